/** Payments on TON under policies that cannot be asked, or do not decide: nothing is signed. */
import { assert, describe, it } from "@effect/vitest"
import { type SchemeClient, SigningFailed, type SigningRequest } from "@pontage/core"
import * as Network from "@pontage/core/Network"
import { exactTon } from "@pontage/ton"
import * as Effect from "effect/Effect"

import { type Governed, type TonAccount, underPolicies } from "../src/index.ts"
import * as TestWdk from "./TestWdk.ts"

const payee = `0:${"11".repeat(32)}`
const token = `0:${"22".repeat(32)}`
const network = Network.make("ton:local")

const request: SigningRequest = {
  requirements: { scheme: "exact", network, maxAmountRequired: "10000", resource: "", payTo: payee, asset: token },
  asset: { network, address: token, symbol: "USDT", decimals: 6, dollar: true, extra: {} },
  validAfter: 0,
  validBefore: 60,
  binding: undefined
}

/** The client's signature, or the message of its refusal; the number of signatures made. */
const signedUnder = Effect.fnUntraced(function* (simulate: unknown, terms: SigningRequest = request) {
  let signatures = 0
  const client: SchemeClient = {
    ...exactTon.client({ signer: TestWdk.signer, network, rpcUrl: "http://127.0.0.1:1" }),
    sign: () =>
      Effect.sync(() => {
        signatures += 1
        return { payer: "", nonce: "", payload: null }
      })
  }
  const account: TonAccount = {
    ...TestWdk.tonAccount(1),
    ...(simulate !== undefined && { simulate: simulate as Governed["simulate"] })
  }
  const outcome = yield* Effect.match(underPolicies(account, client).sign(terms), {
    onFailure: ({ message }) => message,
    onSuccess: () => "signed"
  })
  return [outcome, signatures]
})

describe("policies of a WDK account on TON", () => {
  const cases: ReadonlyArray<readonly [string, unknown, string, number]> = [
    ["that do not exist allow it", undefined, "signed", 1],
    ["that allow it", { transfer: async () => ({ decision: "ALLOW" }) }, "signed", 1],
    [
      "that deny it",
      { transfer: async () => ({ decision: "DENY", policy_id: "small", reason: "too much" }) },
      "the WDK's policy small does not allow the transfer: too much",
      0
    ],
    [
      "with another decision",
      { transfer: async () => ({ decision: "allow" }) },
      "the WDK's policy without an id does not allow the transfer: it gives no reason",
      0
    ],
    [
      "that fail",
      {
        transfer: async () => {
          throw new Error("down")
        }
      },
      "the WDK's policies could not be asked about the payment",
      0
    ],
    [
      "that return nothing",
      { transfer: async () => undefined },
      "the WDK's policies could not be asked about the payment",
      0
    ],
    ["without transfers", {}, "the WDK's policies could not be asked about the payment", 0]
  ]
  for (const [name, simulate, outcome, signatures] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* signedUnder(simulate), [outcome, signatures])
      })
    )
  }

  it.effect("are asked about nothing that is no transfer", () =>
    Effect.gen(function* () {
      const terms = { ...request, requirements: { ...request.requirements, payTo: "0x00" } }
      const allowing = { transfer: async () => ({ decision: "ALLOW" }) }
      assert.deepStrictEqual(yield* signedUnder(allowing, terms), ["the offer's recipient is not a TON address", 0])
    })
  )
})

describe("a WDK account", () => {
  it.effect("without its key signs nothing", () =>
    Effect.gen(function* () {
      const { signer, dispose } = TestWdk.disposable()
      const hash = new Uint8Array(32)
      assert.lengthOf(yield* Effect.promise(() => signer.sign(hash)), 64)
      dispose()
      const failure = yield* Effect.flip(Effect.tryPromise({ try: () => signer.sign(hash), catch: (cause) => cause }))
      assert.instanceOf(failure, SigningFailed)
      assert.match(String(failure), /it was disposed of/)
    })
  )
})
