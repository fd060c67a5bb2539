/** Bodies that are sold by the byte, in pieces of any size: the buyer pays for the bytes that came, and neither side is a window ahead. */
import { assert, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { channelEvm, exactEvm } from "@pontage/evm"
import { streamOf, wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import type { Hex } from "viem"

import { chainLayer } from "./ChannelShopTrial.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import * as StreamShops from "./StreamShops.ts"

/** A window in bytes. */
const window = Number(StreamShops.windowAmount)

const sold = { unit: "byte", tick: "$0.000001" } as const

const payingAt = (shop: StreamShops.StreamShop, key: Hex, perStream: string, troubles: Array<unknown> = []) => {
  const { rpcUrl } = shop.chain.node
  const signer = exactEvm.localSigner(key)
  return wrapFetch(fetch, {
    schemes: [channelEvm.client({ signer, network: BaseSepolia.network, rpcUrl })],
    limits: { perRequest: "$0.001", perStream, perChannel: "$0.5" },
    onTrouble: (error) => void troubles.push(error)
  })
}

/** Reads a body to its end, or to the error that ends it. */
const readAll = async ({ body }: Response) => {
  let came = 0
  try {
    for await (const chunk of body ?? []) came += chunk.length
  } catch (error) {
    return { came, error }
  }
  return { came, error: undefined }
}

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("a body that is sold by the byte", (it) => {
  for (const host of ["Koa", "Express", "a fetch handler"] as const) {
    it.effect(`on ${host} is paid for in pieces of any size`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* StreamShops.opened(host, { idleSeconds: 20, sold })
          const { key } = yield* shop.chain.payer
          const troubles: Array<unknown> = []
          const paying = payingAt(shop, key, "$0.1", troubles)
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

    it.effect(`on ${host} breaks off where its buyer's vouchers end, so that nobody takes it for the whole`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          // The buyer says that it sends no further voucher; else the shop would wait for ten minutes.
          const shop = yield* StreamShops.opened(host, { idleSeconds: 600, sold })
          const { key } = yield* shop.chain.payer
          const paying = payingAt(shop, key, "$0.0035")
          yield* Effect.promise(async () => {
            const standing = async () => Effect.runPromise(shop.ledger.find((await paying.channels())[0]?.id ?? ""))
            const response = await paying(`${shop.origin}/bytes?units=9&size=${window}`)
            const { came, error } = await readAll(response)
            const charged = BigInt(came)
            assert.deepInclude(error, { _tag: "StreamBroken", bytes: charged, charged, signed: charged })
            assert.match(String(error), /perStream/)
            const end = await streamOf(response)?.ended
            assert.deepInclude(end, { outcome: "limit", charged })
            assert.deepInclude(end?.reason, { rule: "over_stream_limit" })
            assert.deepInclude(await standing(), { charged, reserved: 0n })
            // The books agree with the shop: the next request is for its own bytes alone.
            const next = await paying(`${shop.origin}/bytes?units=1&size=${window}`)
            assert.deepStrictEqual(await readAll(next), { came: window, error: undefined })
            assert.deepInclude(await standing(), { charged: charged + BigInt(window), reserved: 0n })
            assert.strictEqual((await paying.channels())[0]?.charged, `${charged + BigInt(window)}`)
          })
        })
      )
    )

    it.effect(`on ${host} breaks off for a buyer of another kind when its window is used`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* StreamShops.opened(host, { sold })
          const { key } = yield* shop.chain.payer
          const buyer = StreamBuyer.make(shop, key)
          yield* Effect.promise(async () => {
            const url = `${shop.origin}/bytes`
            const offer = await buyer.offerOf(url)
            const payload = await buyer.depositOf(offer, BigInt(window), 50_000n)
            const cut = await readAll(await buyer.request(`${url}?units=2&size=${window}`, offer, payload))
            assert.strictEqual(cut.came, window)
            assert.instanceOf(cut.error, Error)
            const again = await buyer.voucherOf(offer, BigInt(2 * window))
            const whole = await readAll(await buyer.request(`${url}?units=1&size=${window}`, offer, again))
            assert.deepStrictEqual(whole, { came: window, error: undefined })
          })
        })
      )
    )
  }
})
