/**
 * Our buyer at x402's shop with x402's facilitator, through channels of our contract for tests.
 */
import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, describe, layer } from "@effect/vitest"
import { PaymentJournal, type PaymentLimits } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import * as BaseSepoliaChain from "@pontage/devnet/BaseSepoliaChain"
import { ChannelCall, ChannelContract, channelEvm, EvmAddress, type EvmSigner, exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import { fileJournal } from "@pontage/fetch/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { Market, opened } from "./ChannelMarket.ts"

const { amount } = BaseSepolia

/** A journal's path, in a folder that goes with the scope. */
const journalPath = Effect.map(
  Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "pontage-"))),
    (folder) => Effect.promise(() => rm(folder, { recursive: true }))
  ),
  (folder) => join(folder, "journal.jsonl")
)

interface BuyerOptions {
  /** The file of its journal, until the scope ends; without it the journal is in memory. */
  readonly path?: string | undefined
  /** The journal, shared with other buyers. */
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
  readonly limits?: PaymentLimits
  /** The network between buyer and shop. */
  readonly send?: typeof fetch
  readonly onTrouble?: (error: unknown) => void
}

/** A buyer of ours; its signers count what they sign. */
const buyerOf = Effect.fnUntraced(function* (
  { key }: Pick<BaseSepoliaChain.Payer, "key">,
  { journal, limits = {}, onTrouble = () => undefined, path, send = fetch }: BuyerOptions = {}
) {
  const { chain, shop } = yield* Market
  const { rpcUrl } = chain.node
  const held = path === undefined ? undefined : yield* Effect.promise(() => fileJournal(path))
  const close = async () => held?.close()
  yield* Effect.addFinalizer(() => Effect.promise(close))
  const account = exactEvm.localSigner(key)
  const vouchers: Array<bigint> = []
  const deposits: Array<bigint> = []
  const signer: EvmSigner.EvmSigner = {
    address: account.address,
    signTypedData: (data) => {
      if (data.primaryType === "Voucher") vouchers.push(BigInt(String(data.message["maxClaimableAmount"])))
      else deposits.push(BigInt(String(data.message["value"])))
      return account.signTypedData(data)
    }
  }
  const scheme = channelEvm.client({ signer, network: BaseSepolia.network, rpcUrl })
  const kept = held?.journal ?? journal
  const paying = wrapFetch(send, { schemes: [scheme], limits, onTrouble, ...(kept && { journal: kept }) })
  const url = `${shop.url}/report`
  return { paying, url, vouchers, deposits, close, buy: Effect.promise(() => paying(url)) }
})

/** The tagged error with which a call rejects. */
const failureOf = (call: () => Promise<Response>) =>
  Effect.flip(
    Effect.tryPromise({
      try: call,
      catch: (error) => error as { readonly _tag: string; readonly rule?: string; readonly reason?: string }
    })
  )

/** The network, with a change to the responses of paid requests. */
const tampered =
  (change: (response: Response) => Response | Promise<Response>): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init)
    return new Headers(init?.headers).has("payment-signature") ? change(response) : response
  }

/** Dollars of the token. */
const dollars = (units: bigint) => `$${(Number(units) / 1_000_000).toFixed(6)}`

const json = (text: string) => JSON.parse(Buffer.from(text, "base64").toString()) as Record<string, unknown>
const header = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64")

/** A response with another receipt. */
const withReceipt = (response: Response, change: (extra: Record<string, unknown>) => Record<string, unknown>) => {
  const text = response.headers.get("payment-response")
  if (text === null) return response
  const receipt = json(text)
  const headers = new Headers(response.headers)
  headers.set("payment-response", header({ ...receipt, extra: change(receipt["extra"] as Record<string, unknown>) }))
  return new Response(response.body, { status: response.status, headers })
}

describe("a buyer of ours through channels of x402's shop and facilitator", () => {
  layer(Layer.effect(Market, opened), { excludeTestServices: true, timeout: "120 seconds" })((it) => {
    it.effect("buys ten times over one deposit and restarts in between, and has the rest refunded", () =>
      Effect.gen(function* () {
        const { chain, payTo } = yield* Market
        const payer = yield* chain.payer
        const path = yield* journalPath
        const moved: Array<string> = []
        const terms: Array<unknown> = []
        for (let life = 0; life < 3; life++) {
          yield* Effect.scoped(
            Effect.gen(function* () {
              const buyer = yield* buyerOf(payer, { path })
              for (let request = 0; request < [4, 3, 3][life]!; request++) {
                const response = yield* buyer.buy
                assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.text()))
                const receipt = settlementOf(response)
                if (receipt !== undefined && receipt.transaction !== "") moved.push(receipt.transaction)
              }
              const [channel, ...others] = yield* Effect.promise(() => buyer.paying.channels())
              assert.isEmpty(others)
              terms.push(channel?.terms)
            })
          )
        }
        assert.lengthOf(moved, 1)
        const rpcUrl = chain.node.rpcUrl
        const channel = terms[0] as never
        const before = yield* channelEvm.state({ rpcUrl, channel })
        assert.deepInclude(before, { balance: 10n * amount, claimed: 0n })
        const buyer = yield* buyerOf(payer, { path })
        assert.strictEqual((yield* buyer.buy).status, 200)
        const refunded = yield* Effect.promise(() => buyer.paying.refund(buyer.url))
        assert.strictEqual(refunded.amount, 9n * amount)
        const after = yield* channelEvm.state({ rpcUrl, channel })
        assert.deepInclude(after, { balance: 11n * amount, claimed: 11n * amount, available: 0n })
        assert.strictEqual(yield* chain.balanceOf(payer.address), BaseSepoliaChain.initialBalance - 11n * amount)
        const [receiver, token] = [payTo, BaseSepolia.token].map((text) => EvmAddress.fromText(text))
        if (receiver === undefined || token === undefined) return assert.fail("no addresses")
        yield* chain.node.send({ to: ChannelContract.address, data: ChannelCall.settle(receiver, token) })
        assert.strictEqual(yield* chain.balanceOf(payTo), 11n * amount)
        return undefined
      }).pipe(Effect.scoped)
    )

    it.effect("buys and is refunded by the program of the documents", () =>
      Effect.gen(function* () {
        const { chain, shop } = yield* Market
        const payer = yield* chain.payer
        const program = fileURLToPath(new URL("../../../docs/examples/buy-by-channel.mjs", import.meta.url))
        const env = {
          PATH: process.env["PATH"],
          PRIVATE_KEY: payer.key,
          RPC_URL: chain.node.rpcUrl,
          NETWORK: BaseSepolia.network,
          JOURNAL: yield* journalPath
        }
        const args = ["--conditions=@pontage/source", program, `${shop.url}/report`]
        const run = (more: ReadonlyArray<string>) =>
          Effect.promise(async () => {
            const { stdout } = await promisify(execFile)(process.execPath, [...args, ...more], { env })
            return stdout.trim().split("\n")
          })
        const first = yield* run([])
        assert.lengthOf(first, 10)
        assert.isTrue(first.every((line) => line.startsWith("200")))
        const buyer = yield* buyerOf(payer, { path: env.JOURNAL })
        assert.strictEqual((yield* buyer.buy).status, 200)
        yield* Effect.promise(() => buyer.close())
        assert.strictEqual((yield* run(["refund"])).at(-1), `${9n * amount}`)
        assert.strictEqual(yield* chain.balanceOf(payer.address), BaseSepoliaChain.initialBalance - 21n * amount)
      }).pipe(Effect.scoped)
    )

    it.effect("buys sixteen times at once, on one channel", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const buyer = yield* buyerOf(payer)
        const responses = yield* Effect.promise(() =>
          Promise.all(Array.from({ length: 16 }, () => buyer.paying(buyer.url)))
        )
        assert.deepStrictEqual(new Set(responses.map(({ status }) => status)), new Set([200]))
        assert.deepStrictEqual(
          buyer.vouchers,
          Array.from({ length: 16 }, (_, index) => BigInt(index + 1) * amount)
        )
        assert.deepStrictEqual(buyer.deposits, [10n * amount, 10n * amount])
      })
    )

    it.effect("takes turns with another client over the same journal", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const journal = { journal: PaymentJournal.make(PaymentJournal.memoryLog()) }
        const buyers = [yield* buyerOf(payer, journal), yield* buyerOf(payer, journal)]
        const calls = [...buyers, ...buyers, ...buyers, ...buyers]
        const responses = yield* Effect.promise(() => Promise.all(calls.map(({ paying, url }) => paying(url))))
        assert.deepStrictEqual(new Set(responses.map(({ status }) => status)), new Set([200]))
        const vouchers = buyers.flatMap(({ vouchers }) => vouchers)
        assert.lengthOf(vouchers, 8)
        assert.isTrue(vouchers.every((voucher) => voucher <= 8n * amount))
      })
    )

    it.effect("never signs beyond what it asked for where another process of the same payer interferes", () =>
      Effect.gen(function* () {
        const { chain, shop } = yield* Market
        const payer = yield* chain.payer
        const runs = shop.goods.runs["/report"]
        const buyers = [yield* buyerOf(payer), yield* buyerOf(payer)]
        assert.strictEqual((yield* buyers[0]!.buy).status, 200)
        const calls = [...buyers, ...buyers, ...buyers]
        const outcomes = yield* Effect.promise(() => Promise.allSettled(calls.map(({ paying, url }) => paying(url))))
        const served = outcomes.filter((one) => one.status === "fulfilled").map(({ value }) => value.status)
        const refusals: ReadonlyArray<unknown> = outcomes.flatMap((one) =>
          one.status === "rejected" ? [one.reason] : []
        )
        for (const refusal of refusals) assert.deepInclude(refusal, { reason: "already_used" })
        assert.deepStrictEqual(new Set(served), new Set([200]))
        assert.strictEqual(shop.goods.runs["/report"] - runs, 1 + served.length)
        // Each process allows at most its own requests above what the other has bought.
        const highest = buyers.flatMap(({ vouchers }) => vouchers).reduce((a, b) => (a > b ? a : b))
        assert.isTrue(highest <= 7n * amount)
      })
    )

    it.effect("sends the same voucher again while the channel is busy", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        let busy = 2
        const send: typeof fetch = async (input, init) => {
          const sent = new Headers(init?.headers).get("payment-signature")
          if (sent === null || busy-- <= 0) return fetch(input, init)
          const error = "invalid_batch_settlement_evm_channel_busy"
          const required = { x402Version: 2, error, accepts: [json(sent)["accepted"]] }
          return new Response("{}", { status: 402, headers: { "payment-required": header(required) } })
        }
        const buyer = yield* buyerOf(payer, { send })
        assert.strictEqual((yield* buyer.buy).status, 200)
        assert.strictEqual(busy, -1)
        assert.deepStrictEqual(buyer.vouchers, [amount])
        assert.lengthOf(buyer.deposits, 1)
      })
    )

    it.effect("goes on from the chain and its own signatures after its journal is lost", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const first = yield* buyerOf(payer)
        for (let request = 0; request < 3; request++) yield* first.buy
        const again = yield* buyerOf(payer)
        assert.strictEqual((yield* again.buy).status, 200)
        assert.deepStrictEqual(again.vouchers, [amount, 4n * amount])
        assert.isEmpty(again.deposits)
      })
    )

    it.effect("sends the same voucher again after a restart, and buys nothing twice", () =>
      Effect.gen(function* () {
        const { chain, shop } = yield* Market
        const payer = yield* chain.payer
        const path = yield* journalPath
        const runs = shop.goods.runs["/report"]
        // The process ends when the deposit and its voucher are written, and before they leave.
        const stopped = new AbortController()
        const send: typeof fetch = (input, init) => {
          if (!new Headers(init?.headers).has("payment-signature")) return fetch(input, init)
          stopped.abort(new Error("stopped"))
          return new Promise(() => undefined)
        }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const buyer = yield* buyerOf(payer, { path, send })
            yield* failureOf(() => buyer.paying(buyer.url, { signal: stopped.signal }))
            assert.deepStrictEqual(buyer.vouchers, [amount])
          })
        )
        const buyer = yield* buyerOf(payer, { path })
        assert.strictEqual((yield* buyer.buy).status, 200)
        assert.isEmpty([...buyer.vouchers, ...buyer.deposits])
        assert.strictEqual((yield* buyer.buy).status, 200)
        assert.deepStrictEqual(buyer.vouchers, [2n * amount])
        assert.isEmpty(buyer.deposits)
        assert.strictEqual(shop.goods.runs["/report"], runs + 2)
      }).pipe(Effect.scoped)
    )

    it.effect("says that a response was lost which the shop has charged, and signs nothing more for it", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        let isLost = true
        const send = tampered((response) => {
          if (!isLost) return response
          isLost = false
          throw new TypeError("the connection broke")
        })
        const buyer = yield* buyerOf(payer, { send })
        assert.deepInclude(yield* failureOf(() => buyer.paying(buyer.url)), {
          _tag: "ValidationError",
          reason: "already_used"
        })
        assert.deepStrictEqual(buyer.vouchers, [amount])
        assert.strictEqual((yield* buyer.buy).status, 200)
        assert.deepStrictEqual(buyer.vouchers, [amount, 2n * amount])
        assert.lengthOf(buyer.deposits, 1)
      })
    )

    it.effect("sends a voucher again that a failed handler was not paid for", () =>
      Effect.gen(function* () {
        const { chain, shop } = yield* Market
        const payer = yield* chain.payer
        const buyer = yield* buyerOf(payer)
        yield* buyer.buy
        shop.goods.failuresLeft = 1
        const url = `${shop.url}/flaky`
        assert.strictEqual((yield* Effect.promise(() => buyer.paying(url))).status, 500)
        assert.strictEqual((yield* buyer.buy).status, 200)
        assert.deepStrictEqual(buyer.vouchers, [amount, 2n * amount, 2n * amount])
        assert.strictEqual((yield* Effect.promise(() => buyer.paying(url))).status, 200)
        assert.strictEqual(buyer.vouchers.at(-1), 3n * amount)
      })
    )

    it.effect("signs nothing above its limits, and deposits no more than they allow", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const tight = yield* buyerOf(payer, { limits: { perRequest: dollars(amount - 1n) } })
        assert.deepInclude(yield* failureOf(() => tight.paying(tight.url)), { rule: "over_request_limit" })
        const poor = yield* buyerOf(payer, { limits: { perChannel: dollars(amount * 9n) } })
        assert.deepInclude(yield* failureOf(() => poor.paying(poor.url)), { rule: "over_channel_limit" })
        assert.isEmpty([...tight.vouchers, ...tight.deposits, ...poor.vouchers, ...poor.deposits])
        const day = yield* buyerOf(payer, { limits: { perDay: dollars(amount * 2n) } })
        yield* day.buy
        yield* day.buy
        assert.deepInclude(yield* failureOf(() => day.paying(day.url)), { rule: "over_day_limit" })
        assert.deepStrictEqual(day.vouchers, [amount, 2n * amount])
      })
    )

    it.effect("books no more than it has signed, whatever a receipt says", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const lies: ReadonlyArray<Record<string, unknown>> = [
          { chargedAmount: `${1000n * amount}` },
          { chargedAmount: "-1" },
          { chargedAmount: `${2n ** 256n}` },
          { channelState: { channelId: `0x${"1".repeat(64)}` } },
          { channelState: null, chargedAmount: `${amount}` }
        ]
        let lie: Record<string, unknown> = {}
        const troubles: Array<unknown> = []
        const send = tampered((response) => withReceipt(response, (extra) => ({ ...extra, ...lie })))
        const buyer = yield* buyerOf(payer, { send, onTrouble: (error) => void troubles.push(error) })
        for (lie of lies) assert.strictEqual((yield* buyer.buy).status, 200)
        assert.deepStrictEqual(
          buyer.vouchers,
          lies.map((_, index) => BigInt(index + 1) * amount)
        )
        assert.isAbove(troubles.length, 2)
      })
    )

    it.effect("signs no higher voucher for a correction that nothing proves", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        let charged: bigint | undefined
        const send: typeof fetch = async (input, init) => {
          const sent = new Headers(init?.headers).get("payment-signature")
          if (sent === null || charged === undefined) return fetch(input, init)
          const { accepted, payload } = json(sent) as {
            accepted: Record<string, unknown>
            payload: { voucher: { channelId: string; signature: string } }
          }
          const { channelId, signature } = payload.voucher
          const channelState = {
            channelId,
            balance: `${1000n * amount}`,
            totalClaimed: "0",
            withdrawRequestedAt: 0,
            refundNonce: "0",
            chargedCumulativeAmount: `${charged}`
          }
          const extra = {
            ...(accepted["extra"] as object),
            channelState,
            voucherState: { signedMaxClaimable: `${charged}`, signature }
          }
          const error = "invalid_batch_settlement_evm_cumulative_amount_mismatch"
          const required = { x402Version: 2, error, accepts: [{ ...accepted, extra }] }
          return new Response("{}", { status: 402, headers: { "payment-required": header(required) } })
        }
        const buyer = yield* buyerOf(payer, { send })
        yield* buyer.buy
        // No signature of this payer is behind it.
        charged = 5n * amount
        assert.deepInclude(yield* failureOf(() => buyer.paying(buyer.url)), { _tag: "PaymentRefused" })
        // The voucher of this very request is: the shop was never served, and wants a second one for the same request.
        charged = 2n * amount
        for (let attempt = 0; attempt < 3; attempt++) yield* failureOf(() => buyer.paying(buyer.url))
        assert.deepStrictEqual(new Set(buyer.vouchers), new Set([amount, 2n * amount, 3n * amount]))
      })
    )

    it.effect("pays another payee through another channel alone, within the limits of all channels", () =>
      Effect.gen(function* () {
        const { chain } = yield* Market
        const payer = yield* chain.payer
        const { signers } = chain.node.accounts
        let payTo: string | undefined
        const send: typeof fetch = async (input, init) => {
          const response = await fetch(input, init)
          const text = response.headers.get("payment-required")
          if (text === null || payTo === undefined) return response
          const required = json(text) as { accepts: ReadonlyArray<Record<string, unknown>> }
          const accepts = required.accepts.map((one) => ({ ...one, payTo }))
          const headers = { "payment-required": header({ ...required, accepts }) }
          return new Response("{}", { status: response.status, headers })
        }
        const limits = { perChannel: "$1", inChannels: dollars(19n * amount) }
        const buyer = yield* buyerOf(payer, { send, limits })
        yield* buyer.buy
        payTo = signers[0].address
        yield* failureOf(() => buyer.paying(buyer.url))
        const channels = yield* Effect.promise(() => buyer.paying.channels())
        assert.strictEqual(new Set(channels.map(({ id }) => id)).size, 2)
        payTo = signers[1].address
        assert.deepInclude(yield* failureOf(() => buyer.paying(buyer.url)), { rule: "over_channel_limit" })
      })
    )
  })
})
