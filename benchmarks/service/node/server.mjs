// What Node needs to answer POST /verify, to be timed against: node server.mjs PORT WORKERS
//
// It parses the request, checks its shape, finds the policy's hash, makes the canonical output
// and its digest, runs the minimal check and then the full one of the schema with ajv, makes the
// hash of the result and answers. It knows the policy vp.schema_only.v1 in its kernel form
// alone, refuses no duplicate keys, keeps no replies, explains nothing and logs nothing.

import cluster from "node:cluster";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const PROVIDER_FAMILY = "swarm-runtime";
const MODEL_ID = "swarm-model-v1";
const POLICY_ID = "vp.schema_only.v1";
const POLICY_HASH = "a52d250d216f425973eb5a13c392d4dbc172357181b683e86caa4a5c64db94a7";
const MAX_SCHEMAS = 1024;

// JSON.parse forgets how these were written, and the digest depends on it: 1.0, 1e5, 2^53, -0.
const FORGOTTEN = /[:,[]\s*(?:-0[,\]}\s]|-?(?:\d+\.0*[,\]}\s]|[\d.]+[eE]|\d{16}))/;

class Refused extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const validators = new Map();

function validator(schema) {
  const key = JSON.stringify(schema);
  let found = validators.get(key);
  if (found === undefined) {
    if (validators.size >= MAX_SCHEMAS) {
      validators.delete(validators.keys().next().value);
    }
    const ajv = new Ajv2020({ strict: false });
    addFormats.default(ajv);
    found = ajv.compile(schema);
    validators.set(key, found);
  }
  return found;
}

function canonical(value) {
  if (typeof value === "string") {
    return JSON.stringify(value);
  }
  if (typeof value === "number") {
    return number(value);
  }
  if (value === null || typeof value !== "object") {
    return String(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(canonical).join(",")}]`;
  }
  const names = Object.keys(value).sort(byCodePoint);
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

// UTF-16 puts U+E000 and up behind what lies above U+FFFF.
function byCodePoint(a, b) {
  const plain = a < b ? -1 : a > b ? 1 : 0;
  for (let at = 0; at < a.length && at < b.length; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) {
      return left >= 0xd800 && right >= 0xd800 ? a.codePointAt(at) - b.codePointAt(at) : plain;
    }
  }
  return plain;
}

// Where the layout differs from that of the language: below 1e-5, and at 1e16 and above.
function number(value) {
  const size = Math.abs(value);
  if (Number.isInteger(value) || (size >= 1e-5 && size < 1e16)) {
    return String(value);
  }
  return value.toExponential();
}

function digest(text) {
  return createHash("sha256").update(text).digest("hex");
}

function hasType(name, value) {
  switch (name) {
    case "object":
      return isObject(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === name;
    case "null":
      return value === null;
    default:
      return typeof name !== "string";
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function acceptsMinimally(schema, output) {
  if (!isObject(schema) || !hasType(schema.type, output)) {
    return false;
  }
  if (Array.isArray(schema.required)) {
    if (!isObject(output)) {
      return false;
    }
    for (const name of schema.required) {
      if (typeof name === "string" && !Object.hasOwn(output, name)) {
        return false;
      }
    }
  }
  if (isObject(schema.properties) && isObject(output)) {
    for (const [name, subschema] of Object.entries(schema.properties)) {
      const asked = isObject(subschema) && Object.hasOwn(output, name);
      if (asked && !hasType(subschema.type, output[name])) {
        return false;
      }
    }
  }
  return true;
}

function isArtifact(value) {
  return (
    isObject(value) &&
    typeof value.uri === "string" &&
    typeof value.digest === "string" &&
    Number.isInteger(value.size_bytes) &&
    typeof value.mime === "string" &&
    Number.isInteger(value.created_at) &&
    typeof value.producer === "string"
  );
}

function isSound({ mime, content }) {
  if (mime === "application/json") {
    JSON.parse(content);
  }
  return (mime === "text/plain" || mime === "application/json") && content.length <= 65536;
}

function read(body) {
  const text = body.toString("utf8");
  if (FORGOTTEN.test(text)) {
    throw new Refused(501, "a number whose spelling would be lost");
  }
  const question = JSON.parse(text);
  const { candidate, policy } = question;
  const shaped =
    isObject(candidate) &&
    typeof candidate.candidate_id === "string" &&
    typeof candidate.execution_id === "string" &&
    isArtifact(candidate.output_ref) &&
    Array.isArray(candidate.evidence_inline) &&
    Array.isArray(candidate.evidence_refs) &&
    candidate.evidence_refs.every(isArtifact) &&
    isObject(policy) &&
    typeof policy.policy_hash === "string" &&
    "output_schema" in question;
  if (!shaped) {
    throw new Refused(422, "wrong shape");
  }
  if (
    policy.policy_id !== POLICY_ID ||
    policy.policy_version !== "1" ||
    policy.policy_hash.toLowerCase() !== POLICY_HASH
  ) {
    throw new Refused(400, "policy binding invalid");
  }
  return question;
}

function verify(body) {
  const { candidate, output_schema: schema, policy } = read(body);
  const { output } = candidate;
  const accepted = acceptsMinimally(schema, output) && validator(schema)(output);
  const codes = [accepted ? 100 : 101];
  const bytes = Buffer.from(canonical(output));
  const reference = candidate.output_ref;
  if (reference.digest !== `sha256:${digest(bytes)}` || reference.size_bytes !== bytes.length) {
    codes.push(203);
  }
  if (candidate.evidence_refs.length > 0 || !candidate.evidence_inline.every(isSound)) {
    codes.push(999);
  }
  const passed = codes.length === 1 && accepted;
  const hashed =
    `{"candidate_id":${JSON.stringify(candidate.candidate_id)}` +
    `,"execution_id":${JSON.stringify(candidate.execution_id)}` +
    `,"model_id":${JSON.stringify(MODEL_ID)},"passed":${passed}` +
    `,"policy_hash":${JSON.stringify(policy.policy_hash)}` +
    `,"provider_family":${JSON.stringify(PROVIDER_FAMILY)}` +
    `,"reason_codes":[${codes}],"score":${passed ? "1.0" : "0.0"}}`;
  return JSON.stringify({
    passed,
    score: passed ? 1 : 0,
    reason_codes: codes,
    verification_status: passed ? "passed" : "failed",
    verifier_result_hash: digest(hashed),
    provider_family: PROVIDER_FAMILY,
    model_id: MODEL_ID,
  });
}

function answer(response, body) {
  let status = 200;
  let reply;
  try {
    reply = verify(body);
  } catch (error) {
    status = error.status ?? 400;
    reply = JSON.stringify({ detail: error.message });
  }
  response.writeHead(status, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(reply),
  });
  response.end(reply);
}

function serve(port) {
  const server = createServer((request, response) => {
    if (request.method !== "POST" || request.url !== "/verify") {
      response.writeHead(404).end();
      return;
    }
    const pieces = [];
    request.on("data", (piece) => pieces.push(piece));
    request.on("end", () => answer(response, pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)));
  });
  server.listen(port, "127.0.0.1");
}

const [port, workers] = process.argv.slice(2).map(Number);
if (workers === 1) {
  serve(port);
} else if (cluster.isPrimary) {
  for (let index = 0; index < workers; index++) {
    cluster.fork();
  }
} else {
  serve(port);
}
