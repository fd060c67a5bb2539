import { assert, describe, layer } from "@effect/vitest"
import { Facilitator, LocalFacilitator, PaymentPayload, type PaymentRequest } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { EvmNetwork, exactEvm } from "../../src/index.ts"
import { EvmTestChain } from "../../src/testing/index.ts"

const chainLayer = EvmTestChain.layer({ payers: 64 })

const customAsset = (chain: EvmTestChain.Shape) => ({ network: chain.network, ...chain.token })

const facilitatorLayer = Layer.unwrap(
  Effect.map(EvmTestChain.EvmTestChain, (chain) =>
    LocalFacilitator.layerMemory({
      schemes: [
        exactEvm.facilitator({
          signer: chain.accounts.signers[0],
          rpcUrl: chain.rpcUrl,
          assets: [customAsset(chain)]
        })
      ]
    })
  )
)

const requirementsOf = (chain: EvmTestChain.Shape) => ({
  scheme: "exact",
  network: EvmNetwork.fromChainId(chain.chainId),
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: chain.accounts.payee.address as string,
  asset: chain.token.address as string
})

const pay = Effect.fnUntraced(function* (payer: number) {
  const chain = yield* EvmTestChain.EvmTestChain
  const signer = chain.accounts.payers[payer]
  if (signer === undefined) return yield* Effect.die("no such payer")
  const schemeClient = exactEvm.client({ signer, network: chain.network, assets: [customAsset(chain)] })
  const requirements = requirementsOf(chain)
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) return yield* Effect.die("no asset")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const signed = yield* schemeClient.sign({
    requirements,
    asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: undefined
  })
  const request: PaymentRequest = {
    paymentPayload: PaymentPayload.sealPayload("exact", chain.network, signed.payload),
    paymentRequirements: requirements
  }
  return request
})

const claim = (id: string) => ({ id: id.padEnd(22, "x"), resource: "resource".padEnd(43, "x") })

describe("exactEvm.facilitator", () => {
  layer(Layer.provideMerge(facilitatorLayer, chainLayer), { excludeTestServices: true })((it) => {
    it.effect("settles a payment: the payee has the money", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const settled = yield* facilitator.settle(yield* pay(0), claim("a"))
        assert.strictEqual(settled.status, "included")
        assert.strictEqual(settled.execution, "granted")
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + 10_000n)
        const transfers = yield* chain.transfers()
        assert.strictEqual(transfers.at(-1)?.transactionHash, settled.transaction)
      })
    )

    it.effect("lets 64 payers through at once on one signer", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Facilitator
        const before = yield* chain.balanceOf(chain.accounts.payee.address)
        const requests = yield* Effect.forEach(
          Array.from({ length: 64 }, (_, index) => index),
          pay
        )
        const all = yield* Effect.forEach(
          requests,
          (request, index) => facilitator.settle(request, claim(`b${index}`)),
          {
            concurrency: "unbounded"
          }
        )
        assert.isTrue(all.every(({ status }) => status === "included"))
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), before + 640_000n)
      })
    )
  })
})
