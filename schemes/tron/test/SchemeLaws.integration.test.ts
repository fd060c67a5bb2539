import { describe, layer } from "@effect/vitest"
import * as Network from "@pontage/core/Network"
import { SchemeLaws } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { exactTron } from "../src/index.ts"
import { type TronTestAccounts, TronTestChain } from "../src/testing/index.ts"
import { localSigner } from "../src/wallet/LocalTronSigner.ts"

/** Blocks after which a block is solidified, and one more. */
const solidified = 19

/** Waits for the time and mines until its block is solidified. */
const finalise = Effect.fnUntraced(function* (chain: TronTestChain.Shape, time: number) {
  const left = Effect.map(Clock.currentTimeMillis, (now) => time * 1000 - now)
  // A timer may end a little early by the wall clock, which the chain's blocks are stamped by.
  for (let wait = yield* left; wait > 0; wait = yield* left) yield* Effect.sleep(Duration.millis(wait))
  yield* chain.mine(solidified)
})

const subject = Effect.gen(function* () {
  const chain = yield* TronTestChain.TronTestChain
  const { accounts, rpcUrl, token } = chain
  const network = Network.make("tron:local")
  const assets = [{ network, ...token }]
  const payerOf = ({ privateKey }: TronTestAccounts.TestAccount) =>
    exactTron.client({ signer: localSigner(privateKey), network, rpcUrl, assets })
  return SchemeLaws.Subject.of({
    payer: payerOf(accounts.payers[0]),
    poor: payerOf(accounts.stranger),
    facilitator: yield* exactTron.facilitator({ rpcUrl, network, assets }),
    stranger: yield* exactTron.facilitator({ rpcUrl, network, assets }),
    requirements: {
      scheme: "exact",
      network,
      maxAmountRequired: "10000",
      resource: "https://shop.example/report",
      payTo: accounts.payee.address,
      asset: token.address
    },
    otherPayTo: accounts.deployer.address,
    otherAsset: accounts.stranger.address,
    otherNetwork: "tron:nile",
    received: chain.balanceOf(accounts.payee.address),
    whileDown: (effect) =>
      Effect.acquireUseRelease(
        chain.plant({ _tag: "Disconnect" }),
        () => effect,
        () => chain.heal
      ),
    finalise: (time) => finalise(chain, time)
  })
})

describe("the laws of a scheme, kept by exact on TRON", () => {
  const subjectLayer = Layer.provide(Layer.effect(SchemeLaws.Subject, subject), TronTestChain.layer())
  layer(subjectLayer, { excludeTestServices: true })((it) => {
    for (const law of SchemeLaws.all) it.effect(law.name, () => law.effect)
  })
})
