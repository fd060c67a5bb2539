/** Metered tools of MCP: charged by the unit, and paid for window by window, over one deposit on a chain. */
import { assert, layer } from "@effect/vitest"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { type CallToolResult, ResultSchema } from "@modelcontextprotocol/sdk/types.js"
import * as Effect from "effect/Effect"
import type { Hex } from "viem"

import { chainLayer } from "./ChannelShopTrial.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import * as ToolShops from "./ToolShops.ts"

const { buyerOf, opened, tick, windowAmount, windowUnits } = ToolShops

const unitsIn = ({ content }: Pick<CallToolResult, "content">): number => {
  const [first] = content
  return first?.type === "text" && first.text !== "" ? first.text.split(" ").length : 0
}

type Amounts = Readonly<Record<string, string>>

/** The receipt of the whole call, and the charge that x402's receipt says. */
const receiptsOf = ({ _meta }: { readonly _meta?: CallToolResult["_meta"] }) => ({
  receipt: _meta?.["payment/receipt"] as Amounts | undefined,
  x402: _meta?.["x402/payment-response"] as { readonly extra?: { readonly chargedAmount?: string } } | undefined
})

const callOf = (units: number, more: object = {}) => ({ name: "count", arguments: { units, ...more } })

/** The ledger's only channel. */
const standingOf = ({ ledger }: ToolShops.ToolShop, receipt: Amounts | undefined) =>
  Effect.runPromise(ledger.find(receipt?.["reference"] ?? ""))

/** A buyer of another kind, that signs each message itself and follows nothing. */
const strangerOf = async (shop: ToolShops.ToolShop, key: Hex) => {
  const buyer = StreamBuyer.make({ chain: shop.chain, origin: "https://tools.example" }, key)
  const demand = await shop.client.callTool(callOf(25))
  const { accepts } = demand.structuredContent as { readonly accepts: ReadonlyArray<StreamBuyer.Offer> }
  const [offer] = accepts
  if (offer === undefined) throw new Error("nothing is offered")
  const metaOf = (payload: object) => ({
    "x402/payment": { x402Version: 2, resource: { url: "mcp://tool/count" }, accepted: offer, payload }
  })
  const pay = async (units: number, payload: object, progresses = false) =>
    (await shop.client.callTool(
      { ...callOf(units), _meta: metaOf(payload) },
      undefined,
      progresses ? { onprogress: () => undefined } : {}
    )) as CallToolResult
  const post = async (payload: object) =>
    (await shop.client.request({ method: "payment/voucher", params: { _meta: metaOf(payload) } }, ResultSchema)) as {
      readonly status: number
      readonly body: object
    }
  return { buyer, offer, pay, post }
}

/** Cuts a call after a unit, and compares what each side has with what is signed and charged. */
const cutting = async (shop: ToolShops.ToolShop, key: Hex, cutAt: number, side: "the caller" | "the connection") => {
  const { idOf, tools } = buyerOf(shop, key)
  const stopping = new AbortController()
  let seen = 0
  const isCut = new Promise<void>((resolve) => {
    shop.made.after = (units) => {
      if (units !== cutAt) return
      if (side === "the caller") stopping.abort()
      resolve(side === "the caller" ? undefined : shop.cut())
    }
  })
  const onprogress = () => void seen++
  const calling = tools.callTool(callOf(35), undefined, { onprogress, signal: stopping.signal })
  const failed = calling.then(
    () => false,
    () => true
  )
  await isCut
  const { charged, signed } = await shop.quiet(await idOf())
  // Without it the buyer asks for the lost result again, by the same voucher.
  stopping.abort()
  assert.isTrue(await failed, `the call that is cut at ${cutAt} has a result`)
  const [made, came] = [tick * BigInt(shop.made.units), tick * BigInt(seen)]
  assert.strictEqual(charged, made, `charged at ${cutAt}`)
  assert.isTrue(charged <= signed && signed - came <= windowAmount, `signed ${signed} for ${came} at ${cutAt}`)
  assert.notInclude(shop.made.ends, "done")
  if (side === "the caller" && shop.over === "in memory") assert.deepStrictEqual(shop.made.ends, ["gone"])
}

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("a metered tool", (it) => {
  for (const over of ["in memory", "over HTTP"] as const) {
    it.effect(`${over} is charged by the unit within its first window, and says so in its result`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* opened(over)
          const { key } = yield* shop.chain.payer
          const { paid, tools, troubles } = buyerOf(shop, key)
          yield* Effect.promise(async () => {
            const result = (await tools.callTool(callOf(4))) as CallToolResult
            assert.strictEqual(unitsIn(result), 4)
            const { receipt, x402 } = receiptsOf(result)
            assert.deepInclude(receipt, {
              method: "batch-settlement",
              status: "success",
              chargedAmount: `${4n * tick}`,
              chargedCumulativeAmount: `${4n * tick}`,
              units: "4"
            })
            assert.notProperty(receipt, "end")
            assert.strictEqual(x402?.extra?.chargedAmount, `${4n * tick}`)
            assert.deepStrictEqual(paid, [`${4n * tick}`])
            assert.isEmpty(troubles)
            assert.deepInclude(await standingOf(shop, receipt), { charged: 4n * tick, reserved: 0n, open: 0 })
          })
        })
      )
    )

    it.effect(`${over} is paid for what came over one voucher after the other`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const shop = yield* opened(over, { idleSeconds: 30 })
          const { key } = yield* shop.chain.payer
          const { paid, tools, troubles } = buyerOf(shop, key)
          yield* Effect.promise(async () => {
            const seen: Array<number> = []
            const onprogress = ({ progress }: { readonly progress: number }) => void seen.push(progress)
            const result = (await tools.callTool(callOf(35), undefined, { onprogress })) as CallToolResult
            assert.strictEqual(unitsIn(result), 35)
            const { receipt, x402 } = receiptsOf(result)
            assert.deepInclude(receipt, {
              chargedAmount: `${35n * tick}`,
              chargedCumulativeAmount: `${35n * tick}`,
              units: "35"
            })
            assert.notProperty(receipt, "end")
            assert.strictEqual(x402?.extra?.chargedAmount, `${35n * tick}`)
            // The caller's own listener gets the tool's notifications, and none of the payment's.
            assert.deepStrictEqual(
              seen,
              Array.from({ length: 35 }, (_, unit) => unit + 1)
            )
            assert.deepInclude(await standingOf(shop, receipt), {
              charged: 35n * tick,
              signed: 4n * windowAmount,
              reserved: 0n,
              open: 0
            })
            // The next call goes on top of what was charged, and not of what was signed.
            const next = receiptsOf(await tools.callTool(callOf(11)))
            assert.strictEqual(next.receipt?.["chargedCumulativeAmount"], `${46n * tick}`)
            assert.deepStrictEqual(paid, [`${35n * tick}`, `${11n * tick}`])
            assert.isEmpty(troubles)
          })
        })
      )
    )
  }

  it.effect("ends at its buyer's limit with what came, and its receipt", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened("in memory", { idleSeconds: 600 })
        const { key } = yield* shop.chain.payer
        const { tools } = buyerOf(shop, key, { perStream: "$0.0025" })
        yield* Effect.promise(async () => {
          const result = (await tools.callTool(callOf(35))) as CallToolResult
          assert.strictEqual(unitsIn(result), 2 * windowUnits)
          const { receipt } = receiptsOf(result)
          assert.deepInclude(receipt, { chargedAmount: `${2n * windowAmount}`, end: "budget" })
          assert.deepStrictEqual(shop.made.ends, ["budget"])
        })
      })
    )
  )

  it.effect("ends with its first window for a stranger, and for a caller that takes no progress", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened("in memory", { idleSeconds: 600 })
        const { key } = yield* shop.chain.payer
        const { pay, post, buyer, offer } = yield* Effect.promise(() => strangerOf(shop, key))
        yield* Effect.promise(async () => {
          const stranger = await pay(25, await buyer.depositOf(offer, windowAmount, 10n * windowAmount))
          assert.strictEqual(unitsIn(stranger), windowUnits)
          const first = receiptsOf(stranger)
          assert.deepInclude(first.receipt, { chargedAmount: `${windowAmount}`, end: "budget", units: "10" })
          assert.strictEqual(first.x402?.extra?.chargedAmount, `${windowAmount}`)
          const untold = await pay(25, { ...(await buyer.voucherOf(offer, 2n * windowAmount)), follows: true })
          assert.strictEqual(unitsIn(untold), windowUnits)
          assert.deepInclude(receiptsOf(untold).receipt, { chargedAmount: `${windowAmount}`, end: "budget" })
          // A voucher that is sent ahead is drawn on at once.
          const ahead = { ...(await buyer.voucherOf(offer, 3n * windowAmount)), follows: true }
          const isSent = new Promise<number>((resolve) => {
            shop.made.after = () => {
              shop.made.after = () => undefined
              void buyer
                .voucherOf(offer, 4n * windowAmount)
                .then(async (voucher) => resolve((await post(voucher)).status))
            }
          })
          const result = await pay(15, ahead, true)
          assert.strictEqual(await isSent, 200)
          assert.deepInclude(receiptsOf(result).receipt, { chargedAmount: `${15n * tick}`, units: "15" })
          assert.deepInclude(await standingOf(shop, first.receipt), { charged: 35n * tick, signed: 4n * windowAmount })
        })
      })
    )
  )

  it.effect("refuses strangers where it does, and vouchers that are none", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened("in memory", { strangers: "refuse" })
        const { key } = yield* shop.chain.payer
        const { pay, post, buyer, offer } = yield* Effect.promise(() => strangerOf(shop, key))
        yield* Effect.promise(async () => {
          const deposit = await buyer.depositOf(offer, windowAmount, 10n * windowAmount)
          const refused = await pay(25, deposit)
          assert.include(refused.structuredContent, { detail: "batch_settlement_follows_required" })
          assert.strictEqual(shop.made.units, 0)
          assert.strictEqual((await pay(3, { ...deposit, follows: true })).isError, undefined)
          const above = await post(await buyer.voucherOf(offer, 11n * windowAmount))
          assert.strictEqual(above.status, 402)
          assert.property(above.body, "accepts")
          assert.strictEqual((await post(await buyer.voucherOf(offer, windowAmount - 1n))).status, 409)
          const unpaid = await shop.client
            .request({ method: "payment/voucher", params: {} }, ResultSchema)
            .catch((error: Error) => error.message)
          assert.include(unpaid, 'send the voucher in params._meta["x402/payment"]')
          assert.strictEqual(shop.made.units, 3)
        })
      })
    )
  )

  it.effect("is refused on a server that takes another shop's vouchers", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const [shop, other] = [yield* opened("in memory"), yield* opened("in memory")]
        const server = new McpServer({ name: "test", version: "1.0.0" })
        shop.stock(server, "first")
        shop.stock(server, "second")
        assert.throws(
          () => other.stock(server, "third"),
          /^tool third: .* takes the vouchers of one shop; sell them by one$/
        )
      })
    )
  )

  it.effect("is paid for what it had charged when it fails, and for nothing before that", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened("in memory")
        const { key } = yield* shop.chain.payer
        const { paid, tools } = buyerOf(shop, key)
        yield* Effect.promise(async () => {
          const late = (await tools.callTool(callOf(9, { fail: 4 }))) as CallToolResult
          assert.isTrue(late.isError)
          assert.deepInclude(receiptsOf(late).receipt, { chargedAmount: `${4n * tick}` })
          const early = (await tools.callTool(callOf(9, { fail: 0 }))) as CallToolResult
          assert.isTrue(early.isError)
          const { receipt, x402 } = receiptsOf(early)
          assert.deepInclude(receipt, { chargedAmount: "0", chargedCumulativeAmount: `${4n * tick}` })
          assert.strictEqual(x402?.extra?.chargedAmount, "0")
          assert.deepStrictEqual(paid, [`${4n * tick}`, "0"])
          assert.deepInclude(await standingOf(shop, receipt), { charged: 4n * tick, reserved: 0n, open: 0 })
        })
      })
    )
  )

  for (const over of ["in memory", "over HTTP"] as const) {
    for (const side of ["the caller", "the connection"] as const) {
      it.effect(`${over} that ${side} cuts at any unit costs either side one window at most`, () =>
        Effect.scoped(
          Effect.gen(function* () {
            for (const cutAt of [1, 9, 10, 11, 20, 25]) {
              // A server of each request hears of no caller that leaves another one: its call waits for the voucher.
              const shop = yield* opened(over, { idleSeconds: over === "in memory" ? 600 : 1 })
              const { key } = yield* shop.chain.payer
              yield* Effect.promise(() => cutting(shop, key, cutAt, side))
            }
          })
        )
      )
    }
  }

  it.effect("that shows nothing gets no second window", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* opened("in memory")
        const { key } = yield* shop.chain.payer
        const { tools, troubles } = buyerOf(shop, key)
        yield* Effect.promise(async () => {
          const result = (await tools.callTool(callOf(35, { silent: true }))) as CallToolResult
          assert.strictEqual(unitsIn(result), windowUnits)
          const { receipt } = receiptsOf(result)
          assert.deepInclude(receipt, { chargedAmount: `${windowAmount}`, end: "idle" })
          assert.deepInclude(await standingOf(shop, receipt), { signed: windowAmount, charged: windowAmount })
          assert.isNotEmpty(troubles)
        })
      })
    )
  )
})
