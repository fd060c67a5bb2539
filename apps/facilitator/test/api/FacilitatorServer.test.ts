import { createConnection } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable, FacilitatorApi, invalid } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"

import * as TestFacilitator from "../TestFacilitator.ts"

const { body, claim, json, paymentId, request, settled, start } = TestFacilitator

const decodeFault = Schema.decodeUnknownEffect(FacilitatorApi.Fault)
const text = (response: Response) => Effect.promise(() => response.text())

/** Requests that no endpoint takes: each gets a fault before any facilitator is asked. */
const malformed: ReadonlyArray<readonly [name: string, sent: unknown]> = [
  ["no JSON", "{"],
  ["nothing", ""],
  ["an empty object", {}],
  ["a list", [body]],
  ["no version", { ...request }],
  ["a version as text", { ...body, protocolVersion: "2" }],
  ["no payload", { ...body, paymentPayload: undefined }],
  ["no requirements", { ...body, paymentRequirements: undefined }],
  ["an amount as number", { ...body, paymentRequirements: { ...request.paymentRequirements, maxAmountRequired: 1 } }],
  ["a network that is none", { ...body, paymentRequirements: { ...request.paymentRequirements, network: "base" } }],
  ["a claim that is none", { ...body, claim: { id: "short", resource: claim.resource } }],
  ["nesting without end", `${"[".repeat(30_000)}${"]".repeat(30_000)}`],
  [
    "a nested extra",
    `{"protocolVersion":2,"paymentRequirements":{"extra":${'{"a":'.repeat(5000)}1${"}".repeat(5000)}}}`
  ]
]

const asked = () => Effect.die("asked")

describe("requests", () => {
  it.live.each(malformed)("400 with a fault for %s", ([, sent]) =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: asked, settle: asked, claim: asked })
      for (const path of ["/verify", "/settle", "/claims"]) {
        if (path === "/verify" && JSON.stringify(sent).includes("short")) continue
        const answer = yield* post(path, sent)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual((yield* decodeFault(yield* json(answer))).error, "malformed")
      }
    })
  )

  it.live("400 for a claim without a claim", () =>
    Effect.gen(function* () {
      const { post } = yield* start({})
      assert.strictEqual((yield* post("/claims", body)).status, 400)
    })
  )

  it.live("415 for a body that is not declared as JSON", () =>
    Effect.gen(function* () {
      const { port, post } = yield* start({ verify: asked, settle: asked, claim: asked, finish: asked })
      const others = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=application/json",
        "text/plain; application/json",
        "application/jsonx",
        "application/json5",
        "application/json, text/plain",
        "text/plain, application/json",
        "application/json;text/plain",
        "application/json; charset=utf-16",
        "application/json; charset=utf-8; charset=utf-7",
        "application/ld+json",
        ""
      ]
      for (const path of ["/verify", "/settle", "/claims", "/payments/finish", `/payments/${paymentId}/finish`]) {
        for (const type of others) {
          const answer = yield* post(path, body, { "content-type": type })
          assert.strictEqual(answer.status, 415, `${path} ${type}`)
          assert.match(
            (yield* decodeFault(yield* json(answer))).message,
            /send it with "Content-Type: application\/json"/
          )
        }
        const twice = "Content-Type: application/json\r\nContent-Type: text/plain\r\n"
        for (const declared of ["", twice]) {
          const sent = `POST ${path} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n${declared}`
          const answer = yield* raw(port, `${sent}Content-Length: 2\r\n\r\n{}`)
          assert.match(answer, /^HTTP\/1.1 415 /)
        }
      }
    })
  )

  it.live("200 for JSON with any parameters, in any case", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: () => Effect.succeed({ payer: "0x" }) })
      for (const type of [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        'application/json;charset="UTF-8"',
        "application/json ; profile=x402; charset=utf-8"
      ])
        assert.strictEqual((yield* post("/verify", body, { "content-type": type })).status, 200, type)
    })
  )

  it.live("413 for more than 64 KiB, declared or not", () =>
    Effect.gen(function* () {
      const { port, post } = yield* start({ verify: () => Effect.die("asked") })
      const padding = " ".repeat(64 * 1024)
      const declared = yield* post("/verify", JSON.stringify(body) + padding)
      assert.strictEqual(declared.status, 413)
      assert.strictEqual((yield* decodeFault(yield* json(declared))).error, "too_large")
      const head = `POST /verify HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`
      const answer = yield* raw(port, `${head}11000\r\n${" ".repeat(0x11000)}\r\n0\r\n\r\n`)
      assert.match(answer, /^HTTP\/1.1 413 /)
    })
  )

  it.live("64 KiB exactly are taken", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ verify: () => Effect.succeed({ payer: "0x" }) })
      const exact = JSON.stringify(body).padEnd(64 * 1024, " ")
      assert.strictEqual((yield* post("/verify", exact)).status, 200)
      assert.strictEqual((yield* post("/verify", `${exact} `)).status, 413)
    })
  )

  it.live("a body is read in pieces of any size", () =>
    Effect.gen(function* () {
      const { port } = yield* start({ verify: ({ paymentRequirements }) => described(paymentRequirements) })
      const requirements = { ...request.paymentRequirements, description: "für € 1" }
      const bytes = Buffer.from(JSON.stringify({ ...body, paymentRequirements: requirements }))
      const head = `POST /verify HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ${bytes.length}\r\n`
      const within = bytes.indexOf("€") + 1
      const pieces = [`${head}\r\n`, bytes.subarray(0, within), bytes.subarray(within)]
      assert.match(yield* rawPieces(port, pieces), /200 OK[^]*"payer":"für € 1"/)
      const asking = yield* raw(port, `${head}Expect: 100-continue\r\n\r\n${bytes.toString()}`)
      assert.match(asking, /^HTTP\/1.1 100 Continue[^]*200 OK[^]*"payer":"für € 1"/)
    })
  )

  it.live("a body that breaks off presents no payment", () =>
    Effect.gen(function* () {
      let times = 0
      const verify = () => Effect.sync(() => ({ payer: `${++times}` }))
      const { port, post } = yield* start({ verify })
      const bytes = JSON.stringify(body)
      const head = `POST /verify HTTP/1.1\r\nHost: localhost:${port}\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length + 1}\r\n\r\n`
      yield* rawPieces(port, [head + bytes, undefined])
      assert.deepStrictEqual(yield* json(yield* post("/verify", body)), { isValid: true, payer: "1" })
    })
  )

  it.live("404 with a fault for an unknown path", () =>
    Effect.gen(function* () {
      const { get, post } = yield* start({})
      const cases = [
        [yield* get("/"), "unknown_endpoint"],
        [yield* get("/verify"), "unknown_endpoint"],
        [yield* post("/supported", {}), "unknown_endpoint"],
        [yield* get("/payments/nonsense"), "unknown_payment"],
        [yield* get(`/payments/${paymentId}`), "unknown_payment"],
        [yield* get(`/payments/${"x".repeat(500)}`), "unknown_endpoint"]
      ] as const
      for (const [answer, error] of cases) {
        assert.strictEqual(answer.status, 404)
        assert.strictEqual((yield* decodeFault(yield* json(answer))).error, error)
      }
    })
  )

  it.live("a defect is 500 with a fault that shows nothing of it", () =>
    Effect.gen(function* () {
      const { client, post } = yield* start({ settle: () => Effect.die(new Error("secret")) })
      const answer = yield* post("/settle", body)
      assert.strictEqual(answer.status, 500)
      assert.notInclude(yield* text(answer), "secret")
      assert.strictEqual((yield* Effect.flip(client.settle(request, claim)))._tag, "FacilitatorUnavailable")
    })
  )
})

describe("several finishes", () => {
  const run = { paymentId, claimId: claim.id, outcome: "served" }

  /** Answers by the outcome: what each kind of failure gets is seen by itself and in a group. */
  const finish: Parameters<typeof start>[0]["finish"] = (id, _, outcome) => {
    if (id !== paymentId) return Effect.fail(invalid("malformed", "unknown_payment", "nobody knows it"))
    if (outcome === "served") return Effect.succeed(TestFacilitator.record)
    if (outcome === "notRun") return Effect.fail(invalid("already_used", "other_claim", "it is another's run"))
    return Effect.fail(new ChainUnavailable({ network: "eip155:1", message: "down" }))
  }

  it.live("each get the response that they would get alone, in their order", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ finish })
      const runs = [
        run,
        { ...run, outcome: "notRun" },
        { ...run, paymentId: "no name at all" },
        { ...run, outcome: "failed" },
        run
      ]
      const alone = yield* Effect.forEach(runs, ({ paymentId: id, ...sent }) =>
        Effect.flatMap(post(`/payments/${encodeURIComponent(id)}/finish`, sent), (answer) =>
          Effect.map(json(answer), (told) => ({ status: answer.status, body: told }))
        )
      )
      assert.deepStrictEqual(
        alone.map(({ status }) => status),
        [200, 409, 404, 503, 200]
      )
      const together = yield* post("/payments/finish", { runs })
      assert.strictEqual(together.status, 200)
      assert.deepStrictEqual(yield* json(together), { answers: alone })
    })
  )

  it.live("are all reported although one causes a defect", () =>
    Effect.gen(function* () {
      const { post } = yield* start({
        finish: (_, id) => (id === claim.id ? Effect.succeed(TestFacilitator.record) : Effect.die(new Error("secret")))
      })
      const runs = [{ ...run, claimId: "CCCCCCCCCCCCCCCCCCCCCC" }, run]
      const told = yield* text(yield* post("/payments/finish", { runs }))
      assert.notInclude(told, "secret")
      const [first, second] = JSON.parse(told).answers
      assert.deepStrictEqual([first.status, first.body.error], [500, "defect"])
      assert.deepStrictEqual(second, { status: 200, body: TestFacilitator.record })
    })
  )

  it.live("are a hundred at most, and a malformed group reports none", () =>
    Effect.gen(function* () {
      const { post } = yield* start({ finish })
      const many = Array.from({ length: 100 }, () => ({ ...run, claimId: "x".repeat(64) }))
      const all = yield* post("/payments/finish", { runs: many })
      assert.strictEqual(all.status, 200)
      const refusing = yield* start({ finish: asked })
      const malformed = [
        { runs: [...many, run] },
        { runs: [] },
        { runs: [run, { ...run, claimId: "short" }] },
        { runs: [run, { ...run, outcome: "won" }] },
        { runs: [run, { claimId: run.claimId, outcome: run.outcome }] },
        { runs: run },
        [run]
      ]
      for (const sent of malformed) {
        const answer = yield* refusing.post("/payments/finish", sent)
        assert.strictEqual(answer.status, 400)
        assert.strictEqual((yield* decodeFault(yield* json(answer))).error, "malformed")
      }
    })
  )
})

describe("for operators", () => {
  it.live("lives", () =>
    Effect.gen(function* () {
      const { get } = yield* start({})
      const answer = yield* get("/live")
      assert.deepStrictEqual([answer.status, yield* json(answer)], [200, { live: true }])
    })
  )

  it.live("shows its API, with every endpoint and every fault, and loads nothing from elsewhere", () =>
    Effect.gen(function* () {
      const { get } = yield* start({})
      const api = yield* text(yield* get("/openapi.json"))
      for (const path of [
        "/verify",
        "/settle",
        "/claims",
        "/payments/{id}/finish",
        "/payments/finish",
        "/payments/{id}",
        "/payments",
        "/supported",
        "/ready"
      ])
        assert.include(api, `"${path}"`)
      for (const status of [400, 401, 403, 404, 409, 413, 429, 503]) assert.include(api, `"${status}":{`)
      const page = yield* get("/docs")
      assert.strictEqual(page.status, 200)
      assert.notMatch(yield* text(page), /<(script|link)[^>]+(src|href)="?https?:/)
    })
  )

  it.live("counts responses by operation and outcome", () =>
    Effect.gen(function* () {
      const { client, get, post } = yield* start({
        verify: () => Effect.fail(invalid("amount_mismatch", "low", "too low")),
        settle: () => Effect.succeed(settled),
        claim: () => Effect.succeed({ ...settled, execution: "held" }),
        finish: () => Effect.succeed(TestFacilitator.record)
      })
      yield* Effect.flip(client.verify(request))
      yield* client.settle(request, claim)
      yield* client.settle(request, claim)
      yield* client.claim(request, claim)
      yield* client.finish(paymentId, claim.id, "served")
      yield* post("/verify", { ...body, protocolVersion: 9 })
      const metrics = yield* text(yield* get("/metrics"))
      const counted = (operation: string, outcome: string, times: number) =>
        assert.include(
          metrics,
          `pontage_facilitator_responses_total{operation="${operation}",outcome="${outcome}"} ${times}\n`
        )
      counted("verify", "amount_mismatch", 1)
      counted("verify", "unsupported_version", 1)
      counted("settle", "settled", 2)
      counted("claim", "held", 1)
      counted("finish", "served", 1)
      assert.include(metrics, 'pontage_facilitator_seconds_count{operation="settle"} 2\n')
      assert.include(metrics, 'pontage_facilitator_in_flight{operation="settle"} 0\n')
    })
  )

  it.live("shows what is pending", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const { client, get } = yield* start({
        settle: () => Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(go)), Effect.as(settled))
      })
      const fiber = yield* Effect.forkChild(client.settle(request, claim))
      yield* Deferred.await(asked)
      assert.include(yield* text(yield* get("/metrics")), 'pontage_facilitator_in_flight{operation="settle"} 1\n')
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(fiber)
    })
  )
})

const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length

describe("stopping", () => {
  it.live("requests under way get their responses, new ones are not accepted, idle connections delay nothing", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const asked = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      const settle = () =>
        Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(go)), Effect.as(settled))
      const { client, get, port } = yield* Scope.provide(scope)(start({ settle }, { stopTimeoutMillis: 600_000 }))
      yield* text(yield* get("/live"))
      const settling = yield* Effect.forkChild(client.settle(request, claim))
      yield* Deferred.await(asked)
      const stopping = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* refused(port)
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual(yield* Fiber.join(settling), settled)
      yield* Fiber.join(stopping)
    })
  )

  it.live("leaves nothing behind that keeps the process alive, also without a connection", () =>
    Effect.gen(function* () {
      const before = timers()
      const scope = yield* Scope.make()
      yield* Scope.provide(scope)(start({}, { stopTimeoutMillis: 600_000 }))
      yield* Scope.close(scope, Exit.void)
      yield* Effect.yieldNow
      assert.isAtMost(timers(), before)
    })
  )

  it.live("a request that never ends is dropped after the time for stopping", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const asked = yield* Deferred.make<void>()
      const { client } = yield* Scope.provide(scope)(
        start(
          { settle: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) },
          { stopTimeoutMillis: 200 }
        )
      )
      const settling = yield* Effect.forkChild(Effect.flip(client.settle(request, claim)))
      yield* Deferred.await(asked)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Fiber.join(settling))._tag, "FacilitatorUnavailable")
    })
  )

  it.live("a caller that disconnects does not stop the service", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const { client, get } = yield* start({
        settle: () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never)
      })
      const settling = yield* Effect.forkChild(client.settle(request, claim))
      yield* Deferred.await(asked)
      yield* Fiber.interrupt(settling)
      assert.strictEqual((yield* get("/live")).status, 200)
    })
  )
})

const described = ({ description = "nobody" }: { readonly description?: string }) =>
  Effect.succeed({ payer: description })

/** Sends bytes and hands over what comes back until the connection ends. */
const raw = (port: number, bytes: string): Effect.Effect<string> => rawPieces(port, [bytes])

/** The same with one piece after the other; where there is none the connection is cut. */
const rawPieces = (port: number, pieces: ReadonlyArray<string | Buffer | undefined>): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    const send = ([piece, ...rest]: typeof pieces) => {
      if (piece === undefined) return socket.destroy()
      socket.write(piece, () => rest.length > 0 && setImmediate(send, rest))
    }
    const socket = createConnection(port, "127.0.0.1", () => send(pieces))
    socket.setNoDelay()
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.on("error", () => undefined)
    socket.on("close", () => resume(Effect.succeed(Buffer.concat(chunks).toString())))
  })

/** Waits until no process listens on the port. */
const refused = (port: number): Effect.Effect<void> =>
  Effect.callback<boolean>((resume) => {
    const socket = createConnection(port, "127.0.0.1", () => {
      socket.destroy()
      resume(Effect.succeed(false))
    })
    socket.on("error", () => resume(Effect.succeed(true)))
  }).pipe(Effect.repeat({ until: (isRefused) => isRefused }), Effect.asVoid)
