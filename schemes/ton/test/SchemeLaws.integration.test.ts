import { describe, layer } from "@effect/vitest"
import type { SchemeClient } from "@pontage/core"
import { SchemeLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { exactTon, TonNetwork } from "../src/index.ts"
import { ToncenterFault, TonTestChain } from "../src/testing/index.ts"

const payers = 240

/** A TON wallet has one pending payment at a time, so a payer of many payments at once has many wallets: each signs one payment. */
const purse = (wallets: ReadonlyArray<SchemeClient>): SchemeClient => {
  let next = 0
  const [first] = wallets
  if (first === undefined) throw new Error("a purse needs a wallet")
  return { ...first, sign: (request) => Effect.suspend(() => (wallets[next++] ?? first).sign(request)) }
}

const subject = Effect.gen(function* () {
  const chain = yield* TonTestChain.TonTestChain
  const { accounts, jetton, rpcUrl } = chain
  const network = chain.network
  const assets = [{ network, address: jetton.raw, symbol: jetton.symbol, decimals: jetton.decimals }]
  const clientOf = (signer: (typeof accounts)["stranger"]) => exactTon.client({ signer, network, rpcUrl, assets })
  const [first, second] = accounts.relayers
  if (second === undefined) return yield* Effect.die("there are too few relayers")
  const options = { rpcUrl, network, assets, batches: { windowMillis: 10 }, rpcTimeoutMillis: 600_000 }
  const facilitator = yield* exactTon.facilitator({ ...options, signer: first })
  const whileDown = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      chain.spoil("*", ToncenterFault.Broken()),
      () => effect,
      () => chain.mend
    )
  const [relayer = ""] = facilitator.lanes
  return SchemeLaws.Subject.of({
    payer: purse(accounts.payers.map(clientOf)),
    poor: clientOf(accounts.stranger),
    facilitator,
    stranger: yield* exactTon.facilitator({ ...options, signer: second, responseDestinations: [relayer] }),
    requirements: {
      scheme: "exact",
      network: TonNetwork.local,
      maxAmountRequired: "10000",
      resource: "https://shop.example/report",
      payTo: accounts.payee.address.toRawString(),
      asset: jetton.raw,
      extra: { ...facilitator.extra }
    },
    otherPayTo: accounts.deployer.address.toRawString(),
    otherAsset: accounts.stranger.address.toRawString(),
    otherNetwork: "ton:testnet",
    received: chain.balanceOf(accounts.payee.address),
    credits: Effect.map(chain.credits(accounts.payee.address), (credits) =>
      credits.map(({ transaction }) => transaction)
    ),
    whileDown,
    finalise: (time) => chain.setTime(time)
  })
})

describe("the laws of a scheme, kept by exact on TON", () => {
  const chain = TonTestChain.layer({ payers })
  layer(Layer.provide(Layer.effect(SchemeLaws.Subject, subject), chain), { excludeTestServices: true })((it) => {
    for (const law of SchemeLaws.all) it.effect(law.name, () => law.effect)
  })
})
