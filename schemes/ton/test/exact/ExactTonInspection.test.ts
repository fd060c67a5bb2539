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

const half = exactTon.server({
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
  asset: half.asset(TonNetwork.local, "TUSD")?.address ?? "",
  extra: { responseDestination: relayer, maxInnerTon: "100000000" }
}

const init = TonWallet.w5Init(payer.publicKey, TonNetwork.walletId(TonNetwork.local))

/** What the shop says of a request that this seed has signed, in a word. */
const said = Effect.fnUntraced(function* (seed: Uint8Array, deploys: boolean) {
  const body = Forgery.transfer({ amount: 10_000n, to: payTo, responseTo: relayer })
  const message = Forgery.message({ to: Forgery.addressOf(jetton.walletOf(payer.address).toRawString()), body })
  const actions = WalletRequest.actionsOf([{ mode: 64, message }])
  const request = Forgery.request({ validUntil: 1_800_000_060, seqno: 0, actions, seed })
  const payload = Forgery.payload(payer, request, deploys ? init : undefined)
  const inspected = half.inspect?.(requirements, payload) ?? Effect.die("it does not look")
  return Result.match(yield* Effect.result(inspected), {
    onSuccess: ({ amount, payTo: to }) => `${amount} to ${to}`,
    onFailure: ({ detail, message: why }) => `${detail}: ${why}`
  })
})

describe("what a shop sees of a payment on TON by itself", () => {
  it.effect("is who pays whom how much", () =>
    Effect.gen(function* () {
      for (const deploys of [true, false]) assert.strictEqual(yield* said(payer.seed, deploys), `10000 to ${payTo}`)
    })
  )

  it.effect("is who signed where the wallet's key comes along, and not where it is on the chain", () =>
    Effect.gen(function* () {
      assert.match(yield* said(stranger.seed, true), /^not_signed: /)
      assert.strictEqual(yield* said(stranger.seed, false), `10000 to ${payTo}`)
    })
  )
})
