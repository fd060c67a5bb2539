import { assert, describe, it } from "@effect/vitest"
import type { PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { exactTon, TonNetwork, TonWallet, WalletRequest } from "../../src/index.ts"
import { TestJetton, TonTestAccounts } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"

const payer = TonTestAccounts.ofName("payer 0")
const stranger = TonTestAccounts.ofName("stranger")
const payTo = Forgery.addressOf(TonTestAccounts.ofName("payee").raw)
const relayer = Forgery.addressOf(TonTestAccounts.ofName("relayer 0").raw)
const { jetton } = TestJetton.make("plain", TonTestAccounts.ofName("deployer").address)

const server = exactTon.server({
  rpcUrl: "http://127.0.0.1:1",
  network: TonNetwork.local,
  assets: [{ network: TonNetwork.local, address: jetton.address.toString(), symbol: "TUSD", decimals: 6 }]
})

const requirements: PaymentRequirements.PaymentRequirements = {
  scheme: "exact",
  network: TonNetwork.local,
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo,
  asset: server.asset(TonNetwork.local, "TUSD")?.address ?? "",
  extra: { responseDestination: relayer, maxInnerTon: "100000000" }
}

const init = TonWallet.w5Init(payer.publicKey, TonNetwork.walletId(TonNetwork.local))

/** Result of inspecting a request that this seed has signed, as a text. */
const inspection = Effect.fnUntraced(function* (seed: Uint8Array, deploys: boolean) {
  const body = Forgery.transfer({ amount: 10_000n, to: payTo, responseTo: relayer })
  const message = Forgery.message({ to: Forgery.addressOf(jetton.walletOf(payer.address).toRawString()), body })
  const actions = WalletRequest.actionsOf([{ mode: 64, message }])
  const request = Forgery.request({ validUntil: 1_800_000_060, seqno: 0, actions, seed })
  const payload = Forgery.payload(payer, request, deploys ? init : undefined)
  const inspected = server.inspect?.(requirements, payload) ?? Effect.die("it has no inspection")
  return Result.match(yield* Effect.result(inspected), {
    onSuccess: ({ amount, payTo: to }) => `${amount} to ${to}`,
    onFailure: ({ detail, message: why }) => `${detail}: ${why}`
  })
})

describe("the inspection of a payment on TON", () => {
  it.effect("finds the amount and the recipient", () =>
    Effect.gen(function* () {
      for (const deploys of [true, false])
        assert.strictEqual(yield* inspection(payer.seed, deploys), `10000 to ${payTo}`)
    })
  )

  it.effect("checks the signature where the request holds the wallet's key, and not where only the chain has it", () =>
    Effect.gen(function* () {
      assert.match(yield* inspection(stranger.seed, true), /^not_signed: /)
      assert.strictEqual(yield* inspection(stranger.seed, false), `10000 to ${payTo}`)
    })
  )
})
