import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as ClientSchemeRegistry from "../../src/scheme/ClientSchemeRegistry.ts"
import * as FacilitatorSchemeRegistry from "../../src/scheme/FacilitatorSchemeRegistry.ts"
import * as SchemeRegistry from "../../src/scheme/SchemeRegistry.ts"
import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as TestLedger from "../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"

const registrable = (network: string | undefined, name = "exact", family = "ledger") => ({
  scheme: { ...TestScheme.scheme, name, family },
  network
})
const made = (...schemes: ReadonlyArray<SchemeRegistry.Registrable>) => Result.getOrThrow(SchemeRegistry.make(schemes))
const refused = (...schemes: ReadonlyArray<SchemeRegistry.Registrable>) =>
  Result.getOrThrow(Result.flip(SchemeRegistry.make(schemes))).message

const built = <A, E>(layer: Layer.Layer<A, E>) => Effect.scoped(Layer.build(layer))
const refusal = <A, E extends { readonly message: string }>(layer: Layer.Layer<A, E>) =>
  Effect.map(Effect.flip(built(layer)), ({ message }) => message)

describe("make", () => {
  it("finds each scheme by scheme and network, and nothing else", () => {
    const one = registrable("ledger:one")
    const two = registrable("ledger:two")
    const upto = registrable("ledger:one", "upto")
    const registry = made(one, two, upto)
    assert.strictEqual(registry.find("exact", "ledger:one"), one)
    assert.strictEqual(registry.find("exact", "ledger:two"), two)
    assert.strictEqual(registry.find("upto", "ledger:one"), upto)
    assert.isUndefined(registry.find("upto", "ledger:two"))
    assert.isUndefined(registry.find("exact", "ledger"))
    assert.isUndefined(registry.find("exact", "ledger:three"))
    assert.isUndefined(registry.find("", ""))
    assert.deepStrictEqual(registry.schemes, [one, two, upto])
  })

  it("finds one without a network by its family alone", () => {
    const open = registrable(undefined)
    const fixed = registrable("ledger:one")
    const registry = made(open, fixed)
    assert.strictEqual(registry.findOpen("exact", "ledger"), open)
    assert.isUndefined(registry.findOpen("exact", "other"))
    assert.isUndefined(registry.findOpen("upto", "ledger"))
    assert.strictEqual(registry.find("exact", "ledger:one"), fixed)
  })

  it("refuses two for one scheme and network, and says which", () => {
    assert.include(
      refused(registrable("ledger:one"), registrable("ledger:one")),
      '"exact" is given twice for ledger:one'
    )
    assert.include(refused(registrable(undefined), registrable(undefined)), "twice for ledger")
  })

  it("refuses an empty list", () => assert.include(refused(), "at least one scheme"))
})

describe("the layer of each role", () => {
  const ledger = TestLedger.make()
  const client = TestScheme.client("acct-alice")
  const server = TestScheme.server(ledger)
  const facilitator = TestScheme.facilitator(ledger)
  const { network } = TestScheme

  it.effect("gives a registry that finds the plugin of its network", () =>
    Effect.gen(function* () {
      const context = yield* built(
        Layer.mergeAll(
          ClientSchemeRegistry.layer([client]),
          ServerSchemeRegistry.layer([server]),
          FacilitatorSchemeRegistry.layer([Effect.succeed(facilitator)])
        )
      )
      const clients = Context.get(context, ClientSchemeRegistry.ClientSchemeRegistry)
      const servers = Context.get(context, ServerSchemeRegistry.ServerSchemeRegistry)
      const facilitators = Context.get(context, FacilitatorSchemeRegistry.FacilitatorSchemeRegistry)
      assert.strictEqual(clients.find("exact", network), client)
      assert.deepStrictEqual(servers.schemes, [server])
      assert.strictEqual(facilitators.find("exact", network), facilitator)
    })
  )

  it.effect("refuses two for one network and scheme, and an empty list", () =>
    Effect.gen(function* () {
      const live = Effect.succeed(facilitator)
      const twice = [
        yield* refusal(ClientSchemeRegistry.layer([client, client])),
        yield* refusal(ServerSchemeRegistry.layer([server, server])),
        yield* refusal(FacilitatorSchemeRegistry.layer([live, live]))
      ]
      for (const message of twice) assert.match(message, /^schemes: "exact" is given twice for .*; keep one$/)
      const none = [
        yield* refusal(ClientSchemeRegistry.layer([])),
        yield* refusal(ServerSchemeRegistry.layer([])),
        yield* refusal(FacilitatorSchemeRegistry.layer([]))
      ]
      for (const message of none) assert.include(message, "give at least one scheme")
    })
  )

  it.effect("refuses a plugin of another role from a program without types", () =>
    Effect.gen(function* () {
      const message = yield* refusal(ClientSchemeRegistry.layer([server] as never))
      assert.include(message, "schemes[0]: expected a scheme client")
      const other = yield* refusal(ServerSchemeRegistry.layer([client] as never))
      assert.include(other, "schemes[0]: expected a scheme server")
      const last = yield* refusal(FacilitatorSchemeRegistry.layer([facilitator] as never))
      assert.include(last, "schemes[0]: expected a scheme facilitator")
    })
  )

  it.effect("has a facilitator's schemes connected as long as the layer's scope, and no longer", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const connecting = Effect.acquireRelease(
        Effect.sync(() => (told.push("connected"), facilitator)),
        () => Effect.sync(() => void told.push("closed"))
      )
      yield* Effect.scoped(
        Effect.andThen(
          Layer.build(FacilitatorSchemeRegistry.layer([connecting])),
          Effect.sync(() => assert.deepStrictEqual(told, ["connected"]))
        )
      )
      assert.deepStrictEqual(told, ["connected", "closed"])
    })
  )
})
