/** Bodies that are sold by the byte, in pieces of any size: the buyer pays for the bytes that came, and neither side is a window ahead. */
import { assert, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { channelEvm, exactEvm } from "@pontage/evm"
import { streamOf, wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"

import { chainLayer } from "./ChannelShopTrial.ts"
import * as StreamShops from "./StreamShops.ts"

/** A window in bytes. */
const window = Number(StreamShops.windowAmount)

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("a body that is sold by the byte", (it) => {
  for (const host of ["Koa", "Express", "a fetch handler"] as const) {
    it.effect(`on ${host} is paid for in pieces of any size`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* StreamShops.opened(host, { idleSeconds: 20, sold: { unit: "byte", tick: "$0.000001" } })
          const { key } = yield* shop.chain.payer
          const troubles: Array<unknown> = []
          const paying = wrapFetch(fetch, {
            schemes: [
              channelEvm.client({
                signer: exactEvm.localSigner(key),
                network: BaseSepolia.network,
                rpcUrl: shop.chain.node.rpcUrl
              })
            ],
            limits: { perRequest: "$0.001", perStream: "$0.1", perChannel: "$0.5" },
            onTrouble: (error) => void troubles.push(error)
          })
          yield* Effect.promise(async () => {
            let sum = 0n
            for (const [size, units] of [
              [1, 2 * window + 7],
              [window, 3],
              [window / 2 + 1, 5],
              [10 * window, 2]
            ] as const) {
              // oxlint-disable no-await-in-loop -- one stream after the other, over one channel
              const response = await paying(`${shop.origin}/bytes?units=${units}&size=${size}`)
              const { signed } = streamOf(response) ?? { signed: () => 0n }
              let came = 0
              for await (const chunk of response.body ?? []) {
                came += chunk.length
                assert.isAtMost(came, Number(signed()), "more has come than is signed for")
                assert.isAtMost(Number(signed()), came + window, "a window ahead at most")
              }
              assert.strictEqual(came, size * units)
              const end = await streamOf(response)?.ended
              assert.deepInclude(end, { outcome: "complete", charged: BigInt(size * units) })
              sum += BigInt(size * units)
              const standing = await Effect.runPromise(shop.ledger.find((await paying.channels())[0]?.id ?? ""))
              assert.deepInclude(standing, { charged: sum, reserved: 0n })
              // oxlint-enable no-await-in-loop
            }
            assert.isEmpty(troubles)
          })
        })
      )
    )
  }
})
