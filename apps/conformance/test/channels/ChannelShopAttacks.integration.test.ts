/**
 * Hostile payers and strangers at our shop of channels: none of them has a response for nothing, spends another's voucher, uses up the
 * shop's gas, or takes money out before it is claimed.
 */
import { assert, layer } from "@effect/vitest"
import { MemoryChannelStore } from "@pontage/core"
import { ChannelContract } from "@pontage/evm"
import { x402Client, x402HTTPClient } from "@x402/fetch"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as Trial from "./ChannelShopTrial.ts"
import { everywhere } from "./FacilitatorPlace.ts"

const { beginWithdrawal, buyerOf, opened, paidOut, price, standing } = Trial

const Sent = Schema.fromJsonString(
  Schema.Struct({
    payload: Schema.Struct({
      type: Schema.String,
      voucher: Schema.Struct({ maxClaimableAmount: Schema.String, signature: Schema.String })
    })
  })
)

/** The voucher of a payment that was sent. */
const voucherIn = (header: string | undefined) =>
  Schema.decodeSync(Sent)(Buffer.from(header ?? "", "base64").toString("utf8")).payload

const reading = new x402HTTPClient(new x402Client())

/** Presents a payment as it was sent before; resolves with the status and the highest voucher that the answer names. */
const replay = (url: string, header: string | undefined) =>
  Effect.promise(async () => {
    const response = await fetch(url, { headers: { "PAYMENT-SIGNATURE": header ?? "" } })
    const refusal =
      response.status === 402 ? reading.getPaymentRequiredResponse((name) => response.headers.get(name)) : undefined
    const told = refusal?.accepts[0]?.extra["voucherState"]
    return { status: response.status, told: JSON.stringify(told ?? null) }
  })

/** The data of all transactions to the contract of channels since a block. */
const calldataSince = ({ chain: { node } }: Trial.Shop, first: bigint) =>
  Effect.promise(async () => {
    const last = await node.client.getBlockNumber()
    const numbers = Array.from({ length: Number(last - first) }, (_, index) => first + BigInt(index) + 1n)
    const blocks = await Promise.all(
      numbers.map((blockNumber) => node.client.getBlock({ blockNumber, includeTransactions: true }))
    )
    return blocks
      .flatMap(({ transactions }) => transactions)
      .filter(({ to }) => to?.toLowerCase() === ChannelContract.address)
      .map(({ input }) => input)
      .join(" ")
  })

for (const { place, shared } of everywhere(Trial.chainLayer))
  layer(shared, { timeout: "15 minutes", excludeTestServices: true })(
    `our shop of channels under attack, its facilitator ${place}`,
    (it) => {
      it.effect("a response that the buyer cuts off is charged, each time", () =>
        Effect.gen(function* () {
          const shop = yield* opened({ claimAt: 1_000n * price })
          const { key } = yield* shop.chain.payer
          const buyer = buyerOf(shop.chain.node.rpcUrl, key)
          const cuts = 8
          for (let cut = 0; cut < cuts; cut++) {
            const abort = new AbortController()
            const response = yield* Effect.promise(() => buyer.pay(`${shop.origin}/stream`, { signal: abort.signal }))
            assert.strictEqual(response.status, 200)
            const part = yield* Effect.promise(
              () => response.body?.getReader().read() ?? Promise.reject(new Error("empty"))
            )
            assert.isAbove(part.value?.byteLength ?? 0, 0)
            abort.abort()
          }
          assert.strictEqual(shop.runs(), cuts)
          // The last of them is in the ledger once the next voucher on top of all fits.
          assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
          const known = yield* shop.ledger.find(Trial.idOf(shop, yield* buyer.channelOf(shop.url)))
          assert.strictEqual(known?.charged, BigInt(cuts + 1) * price)
          assert.strictEqual(known?.signed, known?.charged)
        })
      )

      it.effect("a claim publishes no voucher of a run that failed, and its own voucher buys nothing more", () =>
        Effect.gen(function* () {
          const shop = yield* opened({ claimAt: 4n * price })
          const { key } = yield* shop.chain.payer
          const buyer = buyerOf(shop.chain.node.rpcUrl, key)
          const first = yield* Effect.promise(() => shop.chain.node.client.getBlockNumber())
          for (let request = 0; request < 3; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
          assert.strictEqual((yield* buyer.buy(`${shop.origin}/dear`)).status, 500)
          const failed = voucherIn(buyer.sent.at(-1)).voucher
          assert.strictEqual(failed.maxClaimableAmount, `${5n * price}`)
          assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
          const charged = buyer.sent.at(-1)
          yield* paidOut(shop, 4n * price)
          const published = yield* calldataSince(shop, first)
          assert.include(published, voucherIn(charged).voucher.signature.slice(2))
          assert.notInclude(published, failed.signature.slice(2))
          // Strangers present what they have read, all at once, and the payer goes on beside them.
          const replays = Effect.forEach(Array.from({ length: 8 }), () => replay(shop.url, charged), {
            concurrency: "unbounded"
          })
          const [answers, next] = yield* Effect.all([replays, buyer.buy(shop.url)], { concurrency: "unbounded" })
          assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([402]))
          for (const { told } of answers) assert.notInclude(told, failed.signature)
          assert.strictEqual(next.status, 200)
          assert.strictEqual(shop.runs(), 6)
        })
      )

      it.effect(
        "a deposit is not sent once a withdrawal has begun, nor one that is smaller than the offer asks for",
        () =>
          Effect.gen(function* () {
            const shop = yield* opened({ claimAt: 1_000n * price, deposit: 2n * price })
            const { node } = shop.chain
            const { address, key } = yield* shop.chain.payer
            let begin = Effect.void
            const buyer = buyerOf(node.rpcUrl, key, {
              before: async (request) => {
                const header = request.headers.get("payment-signature")
                if (header !== null && voucherIn(header).type === "deposit") await Effect.runPromise(begin)
              }
            })
            for (let request = 0; request < 2; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
            const config = yield* buyer.channelOf(shop.url)
            begin = beginWithdrawal(shop, config, 2n * price)
            const balance = yield* shop.chain.balanceOf(address)
            assert.strictEqual((yield* buyer.buy(shop.url)).status, 402)
            assert.strictEqual(voucherIn(buyer.sent.at(-1)).type, "deposit")
            assert.strictEqual(yield* shop.chain.balanceOf(address), balance)

            const mean = yield* shop.chain.payer
            const cheap = buyerOf(node.rpcUrl, mean.key, { depositStrategy: () => price })
            assert.strictEqual((yield* cheap.buy(shop.url)).status, 402)
            assert.strictEqual(voucherIn(cheap.sent.at(-1)).type, "deposit")
            assert.deepStrictEqual(yield* standing(shop, yield* cheap.channelOf(shop.url)), [0n, 0n])
            assert.strictEqual(shop.runs(), 2)
          })
      )

      it.effect("deposits that use up the ceiling leave the claims their share of it", () =>
        Effect.gen(function* () {
          const chain = yield* Trial.Chain
          const gasPrice = yield* Effect.promise(() => chain.node.client.getGasPrice())
          const ceiling = 2_400_000n * gasPrice
          const shop = yield* opened({ claimAt: 1_000n * price, gasCeilings: { total: () => ceiling } })
          const { key } = yield* chain.payer
          const buyer = buyerOf(chain.node.rpcUrl, key)
          assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
          let status = 200
          for (let attacker = 0; attacker < 40 && status === 200; attacker++) {
            const hostile = yield* chain.payer
            status = (yield* buyerOf(chain.node.rpcUrl, hostile.key).buy(shop.url)).status
          }
          assert.strictEqual(status, 503)
          const config = yield* buyer.channelOf(shop.url)
          yield* beginWithdrawal(shop, config, 100n * price)
          yield* paidOut(shop, price)
          assert.deepStrictEqual(yield* standing(shop, config), [100n * price, price])
        })
      )

      it.effect("money that was claimed before a crash is paid out by the next process", () =>
        Effect.gen(function* () {
          const ledger = MemoryChannelStore.make()
          const before = Effect.gen(function* () {
            const shop = yield* opened({ ledger, claimAt: 2n * price, watch: { leastPayout: 1_000_000n } })
            const buyer = buyerOf(shop.chain.node.rpcUrl, (yield* shop.chain.payer).key)
            for (let request = 0; request < 2; request++) assert.strictEqual((yield* buyer.buy(shop.url)).status, 200)
            const config = yield* buyer.channelOf(shop.url)
            const id = Trial.idOf(shop, config)
            while (((yield* ledger.find(id))?.claimed ?? 0n) < 2n * price) yield* Effect.sleep("20 millis")
            assert.strictEqual(yield* shop.chain.balanceOf(shop.payee), 0n)
            return shop.payee
          })
          const payee = yield* Effect.scoped(before)
          yield* paidOut(yield* opened({ ledger, payee, claimAt: 2n * price }), 2n * price)
        })
      )
    }
  )
