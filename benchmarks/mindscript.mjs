// Times verifyOutput of a MindScript runtime, on request.
//
// Usage: node mindscript.mjs FOLDER, the folder holding a build of the runtime.
// Standard input has one JSON request a line, standard output one JSON answer a line:
//   {"criteria": [...], "outputs": [...]}  ->  {"results": [[true, null], ...]}
//       for each output whether each criterion passed; null where there is no such verifier
//   {"criteria": [...], "output": ..., "loops": 100}  ->  {"seconds": 0.0123}

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

function entry(folder) {
  const { exports, module, main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return join(folder, exports?.["."]?.import ?? module ?? main ?? "dist/index.js");
}

const { verifyOutput } = await import(pathToFileURL(entry(resolve(process.argv[2]))).href);

async function judged({ criteria, outputs }) {
  const results = [];
  for (const output of outputs) {
    const report = await verifyOutput({ output, criteria });
    const unknown = (result) => result.details?.startsWith("No verifier registered") ?? false;
    results.push(report.results.map((result) => (unknown(result) ? null : result.pass)));
  }
  return { results };
}

async function timed({ criteria, output, loops }) {
  const begin = process.hrtime.bigint();
  for (let i = 0; i < loops; i++) {
    await verifyOutput({ output, criteria });
  }
  return { seconds: Number(process.hrtime.bigint() - begin) / 1e9 };
}

for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line);
  const answer = await ("loops" in request ? timed(request) : judged(request));
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
