/** The settings that Node's HTTP client takes from its process, seen in processes of their own. */
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer as createSecureServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as LocalhostCertificate from "./LocalhostCertificate.ts"
import * as LoopbackServer from "./LoopbackServer.ts"

const { answer, saying } = LoopbackServer
const program = join(import.meta.dirname, "AskingProcess.ts")

/** Its output, line by line. Of the environment it sees only this. */
const asking = (env: NodeJS.ProcessEnv, ...origins: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const parameters = ["--conditions=@pontage/source", "--no-warnings", program, ...origins]
    const { stdout } = await promisify(execFile)(process.execPath, parameters, { env })
    return stdout.trimEnd().split("\n")
  })

const secureServer = Effect.acquireRelease(
  Effect.callback<{ readonly origin: string; readonly close: () => void }>((resume) => {
    const { certificate: cert, key } = LocalhostCertificate
    const server = createSecureServer({ cert, key }, (_, response) => void response.end("secret"))
    const close = () => {
      server.closeAllConnections()
      server.close()
    }
    server.listen(0, () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(Effect.succeed({ origin: `https://localhost:${port}`, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const certificateFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
  ),
  (folder) => {
    const file = join(folder, "ca.pem")
    writeFileSync(file, LocalhostCertificate.certificate)
    return file
  }
)

describe("a process that has asked", () => {
  it.effect("is not kept alive by the connection it keeps", () =>
    Effect.gen(function* () {
      const { connections, origin } = yield* LoopbackServer.make(saying(answer("said")))
      assert.deepStrictEqual(yield* asking({}, origin, origin), ["said", "said", "free"])
      assert.strictEqual(connections.length, 1)
    })
  )

  it.effect("trusts only whom it is told to trust", () =>
    Effect.gen(function* () {
      const { origin } = yield* secureServer
      const [distrusted] = yield* asking({}, origin)
      assert.strictEqual(distrusted, "DEPTH_ZERO_SELF_SIGNED_CERT")
      const NODE_EXTRA_CA_CERTS = yield* certificateFile
      assert.deepStrictEqual(yield* asking({ NODE_EXTRA_CA_CERTS }, origin, origin), ["secret", "secret", "free"])
    })
  )

  it.effect("went through the environment's proxy where Node's switch says so", () =>
    Effect.gen(function* () {
      const proxy = yield* LoopbackServer.make(saying(answer("from the proxy")))
      const HTTP_PROXY = proxy.origin.replace("http://", "http://user:pass@")
      const far = "http://far.invalid:81"
      for (const env of [{ NODE_USE_ENV_PROXY: "1" }, { NODE_OPTIONS: "--use-env-proxy" }]) {
        const [said] = yield* asking({ HTTP_PROXY, ...env }, far)
        assert.strictEqual(said, "from the proxy")
      }
      assert.match(proxy.requests[0] ?? "", /^POST http:\/\/far\.invalid:81\/a\?b HTTP/)
      assert.match(proxy.requests[0] ?? "", /^host: far\.invalid:81\r$/im)
      assert.match(proxy.requests[0] ?? "", /^proxy-authorization: Basic dXNlcjpwYXNz\r$/im)
      const [direct] = yield* asking({ HTTP_PROXY }, far)
      assert.include(["ENOTFOUND", "EAI_AGAIN"], direct)
    })
  )
})
