import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"

import * as HttpLoad from "../src/HttpLoad.ts"

/** Answers with what was posted, and with 404 to every third `GET`; tells how many connections it had. */
const withServer = async <A>(use: (url: string) => Promise<A>): Promise<{ result: A; connections: number }> => {
  let asked = 0
  let connections = 0
  const server = createServer((request, response) => {
    response.statusCode = request.method === "GET" && ++asked % 3 === 0 ? 404 : 200
    request.pipe(response)
  })
  server.on("connection", () => connections++)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const result = await use(`http://127.0.0.1:${port}/`)
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  return { result, connections }
}

describe("run", () => {
  it("counts the statuses of exactly the given requests, over the given connections", async () => {
    const { connections, result } = await withServer((url) => HttpLoad.run(url, 30, 4))
    assert.deepStrictEqual(
      [...result].toSorted(([a], [b]) => a - b),
      [
        [200, 20],
        [404, 10]
      ]
    )
    assert.strictEqual(connections, 4)
  })
})

describe("post", () => {
  it("sends every body once and gives every response", async () => {
    const bodies = Array.from({ length: 50 }, (_, index) => `{"number":${index},"text":"ü"}`)
    const { connections, result } = await withServer((url) => HttpLoad.post(url, bodies, 4))
    assert.deepStrictEqual(result.toSorted(), bodies.toSorted())
    assert.strictEqual(connections, 4)
  })
})
