// A verifier service with nothing but Node: a text must have at most so many words.
//
// node service.mjs [PORT]

import { createServer } from "node:http";

const MAX_BYTES = 2 ** 20;

// Whether the output holds; an exception here becomes status 400.
function verdict({ output, params }) {
  const most = params.max_words;
  if (!Number.isInteger(most)) throw new TypeError("max_words must be integer");
  if (typeof output !== "string") return { pass: false, details: "the output is no text" };
  const count = output.split(/\s+/u).filter(Boolean).length;
  return { pass: count <= most, details: `${count} words, at most ${most}`, score: count };
}

function send(response, status, reply) {
  const body = JSON.stringify(reply);
  response.writeHead(status, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

const server = createServer(async (request, response) => {
  if (request.method !== "POST") return send(response, 405, { error: "POST only" });
  const pieces = [];
  let size = 0;
  try {
    for await (const piece of request) {
      size += piece.length;
      if (size > MAX_BYTES) return send(response, 413, { error: "too large" });
      pieces.push(piece);
    }
    send(response, 200, verdict(JSON.parse(Buffer.concat(pieces).toString("utf8"))));
  } catch {
    send(response, 400, { error: "not a question" });
  }
});

server.listen(Number(process.argv[2] ?? 8000), "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${server.address().port}/`);
});
