import { describe, layer } from "@effect/vitest"
import { SchemeLaws } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { deployBatchSettler, EvmNetwork, exactEvm } from "../src/index.ts"
import { type EvmTestAccounts, EvmTestChain } from "../src/testing/index.ts"
import * as HostileNode from "./HostileNode.ts"

/** The chain behind a connection that can be cut. */
const cuttableLine = Effect.gen(function* () {
  const { rpcUrl } = yield* EvmTestChain.EvmTestChain
  let cut = false
  const node = yield* HostileNode.make((response, request) => {
    if (cut) return void response.destroy()
    const body = JSON.stringify({ jsonrpc: "2.0", ...request })
    const headers = { "content-type": "application/json" }
    void fetch(rpcUrl, { method: "POST", headers, body }).then(async (answer) => response.end(await answer.text()))
  })
  const whileDown = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void (cut = true)),
      () => effect,
      () => Effect.sync(() => void (cut = false))
    )
  return { url: node.url, whileDown }
})

/** Each block moves this chain's clock on by a second, so there are few. */
const finalityDepth = 2

/** Waits for the time and mines blocks until its block is final. */
const finalise = Effect.fnUntraced(function* (time: number) {
  const { mine } = yield* EvmTestChain.EvmTestChain
  const now = yield* Clock.currentTimeMillis
  yield* Effect.sleep(Duration.millis(Math.max(0, time * 1000 - now)))
  yield* mine(finalityDepth + 1)
})

/** Settles payments one by one, or in batches. */
const subject = Effect.fnUntraced(function* (isTogether: boolean) {
  const chain = yield* EvmTestChain.EvmTestChain
  const { accounts, token } = chain
  const assets = [{ network: chain.network, ...token }]
  const line = yield* cuttableLine
  const payerOf = (signer: EvmTestAccounts.TestAccount) => exactEvm.client({ signer, network: chain.network, assets })
  const [first, second] = accounts.signers
  const batches = isTogether && {
    batches: { settler: yield* deployBatchSettler({ signer: accounts.deployer, rpcUrl: chain.rpcUrl }) }
  }
  return SchemeLaws.Subject.of({
    payer: payerOf(accounts.payers[0]),
    poor: payerOf(accounts.stranger),
    facilitator: yield* exactEvm.facilitator({ signer: first, rpcUrl: line.url, assets, finalityDepth, ...batches }),
    stranger: yield* exactEvm.facilitator({ signer: second, rpcUrl: chain.rpcUrl, assets, finalityDepth }),
    requirements: {
      scheme: "exact",
      network: EvmNetwork.fromChainId(chain.chainId),
      maxAmountRequired: "10000",
      resource: "https://shop.example/report",
      payTo: accounts.payee.address,
      asset: token.address
    },
    otherPayTo: accounts.deployer.address,
    otherAsset: accounts.stranger.address,
    otherNetwork: "eip155:1",
    received: chain.balanceOf(accounts.payee.address),
    whileDown: line.whileDown,
    finalise: (time) => Effect.provideService(finalise(time), EvmTestChain.EvmTestChain, chain)
  })
})

describe("the laws of a scheme, kept by exact on EVM", () => {
  for (const [name, isTogether] of [
    ["one by one", false],
    ["in batches", true]
  ] as const) {
    const subjectLayer = Layer.provide(Layer.effect(SchemeLaws.Subject, subject(isTogether)), EvmTestChain.layer())
    layer(subjectLayer, { excludeTestServices: true })(name, (it) => {
      for (const law of SchemeLaws.all) it.effect(law.name, () => law.effect)
    })
  }
})
