/** Our buyer at our shops of metered streams, on each host, over a chain. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, layer } from "@effect/vitest"
import type { PaymentJournal, PaymentLimits } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { channelEvm, exactEvm } from "@pontage/evm"
import { settlementOf, streamOf, wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import type { Hex } from "viem"

import { chainLayer } from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"
import * as StreamShops from "./StreamShops.ts"

const { hosts, opened, tick, windowAmount } = StreamShops

interface BuyerOptions {
  readonly limits?: PaymentLimits
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
}

const buyerOf = (shop: StreamShops.StreamShop, key: Hex, options: BuyerOptions = {}) => {
  const { rpcUrl } = shop.chain.node
  const signer = exactEvm.localSigner(key)
  const troubles: Array<unknown> = []
  const paid: Array<string> = []
  const paying = wrapFetch(fetch, {
    schemes: [channelEvm.client({ signer, network: BaseSepolia.network, rpcUrl })],
    limits: { perRequest: "$0.001", perStream: "$0.01" },
    onTrouble: (error) => void troubles.push(error),
    onPayment: ({ amount }) => void paid.push(amount),
    ...options
  })
  const read = async (query: string) => {
    const response = await paying(`${shop.url}?${query}`)
    const text = await response.text()
    return { response, text, end: await streamOf(response)?.ended }
  }
  const book = async () => (await paying.channels())[0]
  return { paying, read, book, troubles, paid }
}

const unitsIn = (text: string) => text.match(/^data: \d+$/gm)?.length ?? 0

for (const { place, shared } of everywhere(chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `a metered stream that our buyer follows, its facilitator ${place}`,
    (it) => {
      for (const host of Object.keys(hosts) as ReadonlyArray<keyof typeof hosts>) {
        it.effect(`on ${host} is paid for what came, twice over one deposit`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened(host)
              const { key } = yield* shop.chain.payer
              const { book, paid, read, troubles } = buyerOf(shop, key)
              yield* Effect.promise(async () => {
                const first = await read("units=35")
                assert.strictEqual(first.response.status, 200, first.text)
                assert.strictEqual(unitsIn(first.text), 35)
                assert.deepInclude(first.end, {
                  outcome: "complete",
                  units: 35n,
                  charged: 35n * tick,
                  signed: 4n * windowAmount
                })
                assert.notStrictEqual(settlementOf(first.response)?.transaction, "")
                assert.deepInclude(await book(), { charged: `${35n * tick}`, signed: `${4n * windowAmount}` })
                const second = await read("units=11")
                assert.deepInclude(second.end, { outcome: "complete", charged: 11n * tick })
                assert.strictEqual(settlementOf(second.response)?.transaction, "")
                assert.deepStrictEqual(paid, [`${35n * tick}`, `${11n * tick}`])
                assert.isEmpty(troubles)
                const standing = await Effect.runPromise(shop.ledger.find((await book())?.id ?? ""))
                assert.deepInclude(standing, { charged: 46n * tick, reserved: 0n })
              })
            })
          )
        )
      }

      for (const host of ["Koa", "Hono"] as const) {
        it.effect(`on ${host} is paid for its bytes, one window ahead of those that came`, () =>
          Effect.scoped(
            Effect.gen(function* () {
              const shop = yield* opened(host, { idleSeconds: 5, sold: { unit: "byte", tick: "$0.000001" } })
              const { key } = yield* shop.chain.payer
              const { book, paying, troubles } = buyerOf(shop, key)
              yield* Effect.promise(async () => {
                const response = await paying(`${shop.origin}/bytes?units=500`)
                const text = await response.text()
                assert.strictEqual(unitsIn(text), 500)
                const bytes = BigInt(text.length)
                const end = await streamOf(response)?.ended
                assert.deepInclude(end, { outcome: "complete", charged: bytes })
                assert.isAtMost(Number(end?.signed), Number(bytes + windowAmount))
                assert.isEmpty(troubles)
                const channel = await book()
                assert.strictEqual(channel?.charged, `${bytes}`)
                const standing = await Effect.runPromise(shop.ledger.find(channel?.id ?? ""))
                assert.deepInclude(standing, { charged: bytes, reserved: 0n })
              })
            })
          )
        )
      }

      it.effect("ends at the buyer's limit, and both sides have the same sum", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened("Koa", { idleSeconds: 600 })
            const { key } = yield* shop.chain.payer
            const { book, read, troubles } = buyerOf(shop, key, {
              limits: { perRequest: "$0.001", perStream: "$0.0025" }
            })
            yield* Effect.promise(async () => {
              const { end, text } = await read("units=35")
              assert.strictEqual(unitsIn(text), 20)
              assert.deepInclude(end, { outcome: "limit", charged: 20n * tick, signed: 2n * windowAmount })
              assert.deepInclude(end?.reason, { rule: "over_stream_limit" })
              assert.lengthOf(troubles, 1)
              const standing = await Effect.runPromise(shop.ledger.find((await book())?.id ?? ""))
              assert.deepInclude(standing, { charged: 20n * tick, reserved: 0n })
            })
          })
        )
      )

      it.effect("is cancelled in its middle, and the next one agrees with the shop about the sum", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened("Koa")
            const { key } = yield* shop.chain.payer
            const { book, paying, read } = buyerOf(shop, key)
            yield* Effect.promise(async () => {
              const response = await paying(`${shop.url}?units=1000`)
              const reader = response.body!.getReader()
              let text = ""
              // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
              while (unitsIn(text) < 13) text += new TextDecoder().decode((await reader.read()).value)
              await reader.cancel()
              const end = await streamOf(response)?.ended
              assert.strictEqual(end?.outcome, "cancelled")
              assert.isAtMost(Number(end?.signed), unitsIn(text) * Number(tick) + Number(windowAmount))
              const next = await read("units=5")
              assert.deepInclude(next.end, { outcome: "complete", charged: 5n * tick })
              const channel = await book()
              const standing = await Effect.runPromise(shop.ledger.find(channel?.id ?? ""))
              assert.strictEqual(`${standing?.charged}`, channel?.charged)
            })
          })
        )
      )

      it.effect("runs beside requests and other streams of one channel", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened("a fetch handler", { idleSeconds: 5 })
            const { key } = yield* shop.chain.payer
            const { book, read, troubles } = buyerOf(shop, key)
            yield* Effect.promise(async () => {
              await read("units=1")
              const all = await Promise.all([35, 25, 15, 45].map((units) => read(`units=${units}`)))
              assert.deepStrictEqual(
                all.map(({ end }) => `${end?.outcome} ${end?.charged}`),
                [35n, 25n, 15n, 45n].map((units) => `complete ${units * tick}`),
                troubles.map((t) => (t as Error).message).join("\n")
              )
              assert.isEmpty(troubles)
              const standing = await Effect.runPromise(shop.ledger.find((await book())?.id ?? ""))
              assert.deepInclude(standing, { charged: 121n * tick, reserved: 0n })
            })
          })
        )
      )

      it.effect("costs neither side more than a window, wherever its connection is cut", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened("Koa", { idleSeconds: 5 })
            const { key } = yield* shop.chain.payer
            const { book, paying, read } = buyerOf(shop, key)
            const chargedNow = async () =>
              (await Effect.runPromise(shop.ledger.find((await book())?.id ?? "")))?.charged ?? 0n
            yield* Effect.promise(async () => {
              for (const most of [1, 10, 11, 25]) {
                // oxlint-disable no-await-in-loop -- the books are compared after each cut
                const [before, made] = [await chargedNow(), shop.made.units]
                const stopping = new AbortController()
                const response = await paying(`${shop.url}?units=1000`, { signal: stopping.signal })
                let text = ""
                const reading = async () => {
                  for await (const chunk of response.body ?? []) {
                    text += new TextDecoder().decode(chunk)
                    if (unitsIn(text) >= most) stopping.abort()
                  }
                }
                await reading().catch(() => undefined)
                assert.strictEqual((await streamOf(response)?.ended)?.outcome, "broken")
                const cut = shop.made.units - made
                // Its receipt shows that the shop is done with the stream that was cut.
                assert.strictEqual((await read("units=1")).end?.outcome, "complete")
                const charged = (await chargedNow()) - before - tick
                assert.isAtMost(Number(charged), unitsIn(text) * Number(tick) + Number(windowAmount))
                assert.isAtMost(cut * Number(tick), Number(charged) + Number(windowAmount))
                // oxlint-enable no-await-in-loop
              }
            })
          })
        )
      )

      it.effect("is followed by the program of the documents", () =>
        Effect.scoped(
          Effect.gen(function* () {
            const shop = yield* opened("Koa")
            const { key } = yield* shop.chain.payer
            const program = fileURLToPath(new URL("../../../docs/examples/follow-stream.mjs", import.meta.url))
            const env = {
              PATH: process.env["PATH"],
              PRIVATE_KEY: key,
              RPC_URL: shop.chain.node.rpcUrl,
              NETWORK: BaseSepolia.network
            }
            const args = ["--conditions=@pontage/source", program, `${shop.url}?units=23`]
            const ran = yield* Effect.promise(() => promisify(execFile)(process.execPath, args, { env }))
            assert.strictEqual(unitsIn(ran.stdout), 23)
            assert.strictEqual(ran.stderr.trim(), "complete 23 units 2300 of 3000 charged")
          })
        )
      )
    }
  )
