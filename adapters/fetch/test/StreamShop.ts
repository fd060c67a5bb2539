/**
 * A shop of metered streams on a real socket, with a ledger of its own, and a buyer through a channel whose chain is in memory. The
 * shop can be as hostile as a test needs: it changes what it says, and leaves out what it owes.
 */
import type { ServerResponse } from "node:http"

import { ChannelPurchase, type ChannelSigner, type OwnPurchase, protocolSeller } from "@pontage/core"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

/** The id of the buyer's one channel. */
export const channelId = `0x${"a".repeat(64)}`

/** The conduct of a shop; each part is optional. */
export interface StreamPlan {
  /** The units of the answer; default 10. */
  readonly pieces?: number
  readonly unit?: string
  readonly tick?: bigint
  readonly window?: bigint
  readonly type?: string
  /** The bytes of one piece of a body without events. */
  readonly pieceBytes?: number
  /** The terms as they are offered. */
  readonly metered?: Schema.Json
  /** The demand as it is sent. */
  readonly need?: (honest: Readonly<Record<string, string>>) => unknown
  /** The end as it is sent; `undefined` sends none. */
  readonly end?: (honest: Readonly<Record<string, string>>) => unknown
  /** Resolves when this piece may be sent: the shop's demands overtake it, as they do where the two go different ways to the socket. */
  readonly held?: (piece: number) => Promise<void> | undefined
  /** Whether a piece is sent for what is charged. */
  readonly delivers?: (piece: number) => boolean
  /** Told of each deposit, which is made at once. */
  readonly onDeposit?: (amount: bigint) => void
  /** Answers a voucher in place of the shop. */
  readonly onVoucher?: (response: ServerResponse, count: number) => boolean
}

/** The shop. */
export interface StreamShop extends PaidShop.PaidShop {
  /** The vouchers that came, in order, with the first one of each stream. */
  readonly vouchers: ReadonlyArray<bigint>
  /** The requests of the voucher URL. */
  readonly posts: ReadonlyArray<PaidShop.Arrival>
  readonly charged: () => bigint
  /** Ends the streams that wait, as the end of their patience does. */
  readonly idle: () => void
  /** Resolves when a stream waits for a voucher. */
  readonly waits: () => Promise<void>
}

interface Payload {
  readonly ceiling: string
  readonly deposit?: string
}

const payloadOf = ({ payment = "" }: PaidShop.Arrival): Payload => {
  const { payload } = JSON.parse(payment) as { payload: string }
  return JSON.parse(Buffer.from(payload, "base64").toString()) as Payload
}

const say = (response: ServerResponse, event: string, data: unknown) =>
  response.write(`event: ${event}\ndata: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`)

/** Opens a shop. */
export const open = async (plan: StreamPlan = {}): Promise<StreamShop> => {
  const { pieces = 10, pieceBytes = 1, tick = 100n, type = "text/event-stream", unit = "event", window = 300n } = plan
  const metered = plan.metered ?? {
    unit,
    tick: `${tick}`,
    window: `${window}`,
    voucherUrl: "/voucher",
    idleSeconds: 30
  }
  const vouchers: Array<bigint> = []
  const posts: Array<PaidShop.Arrival> = []
  const waiting = new Set<(goesOn: boolean) => void>()
  const watching = new Set<() => void>()
  let accepted = 0n
  let owed = 0n
  const offer = PaidShop.offer({ scheme: "channel", maxAmountRequired: `${window}`, extra: { metered } })
  const isEvents = type === "text/event-stream"
  /** Waits for a voucher that covers one more unit; false where none comes. */
  const covered = async (response: ServerResponse): Promise<boolean> => {
    // oxlint-disable-next-line no-unmodified-loop-condition -- another request's voucher changes them
    while (owed + tick > accepted) {
      const honest = {
        channelId,
        requiredCumulative: `${owed + window}`,
        acceptedCumulative: `${accepted}`,
        deposit: "1000000"
      }
      if (isEvents) say(response, "payment-need-voucher", plan.need === undefined ? honest : plan.need(honest))
      const going = new Promise<boolean>((resolve) => {
        waiting.add(resolve)
        response.once("close", () => resolve(false))
      })
      for (const watcher of watching) watcher()
      // oxlint-disable-next-line no-await-in-loop -- each voucher follows the one before
      if (!(await going)) return false
    }
    return true
  }
  const stream = async (response: ServerResponse) => {
    const before = owed
    response.writeHead(200, { ...headOf(window), "content-type": type, "payment-voucher-url": "/voucher" })
    response.flushHeaders()
    let units = 0
    let isWhole = true
    for (let piece = 0; piece < pieces && isWhole; piece++) {
      // oxlint-disable-next-line no-await-in-loop -- one piece after the other
      isWhole = await covered(response)
      if (!isWhole) break
      owed += tick
      units++
      if (plan.delivers?.(piece) === false) continue
      const held = plan.held?.(piece)
      const write = () => void response.write(`data: piece ${piece}\n\n`)
      if (held !== undefined) void held.then(write)
      else if (isEvents) write()
      else response.write("x".repeat(pieceBytes))
    }
    const honest = {
      method: "batch-settlement",
      reference: channelId,
      status: "success",
      timestamp: "2026-11-28T20:50:00.000Z",
      chargedAmount: `${owed - before}`,
      chargedCumulativeAmount: `${owed}`,
      units: `${units}`,
      ...(!isWhole && { end: "idle" })
    }
    const end = plan.end === undefined ? honest : plan.end(honest)
    if (isEvents && end !== undefined) say(response, "payment-receipt", end)
    response.end()
  }
  const answerVoucher: PaidShop.Answer = (response, arrival) => {
    posts.push(arrival)
    if (plan.onVoucher?.(response, posts.length) === true) return
    const payload = payloadOf(arrival)
    const ceiling = BigInt(payload.ceiling)
    vouchers.push(ceiling)
    if (ceiling > accepted) accepted = ceiling
    if (payload.deposit !== undefined) plan.onDeposit?.(BigInt(payload.deposit))
    const state = {
      channelState: { channelId, chargedCumulativeAmount: `${owed}` },
      acceptedCumulative: `${accepted}`,
      ...(payload.deposit !== undefined && { transaction: "0xdef" })
    }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(state))
    for (const resolve of waiting) resolve(true)
    waiting.clear()
  }
  const shop = await PaidShop.open((response, arrival) => {
    if (arrival.url === "/voucher") return answerVoucher(response, arrival)
    if (arrival.payment === undefined) return PaidShop.refuse(402, { accepts: [offer] })(response, arrival)
    const ceiling = BigInt(payloadOf(arrival).ceiling)
    if (ceiling !== owed + window) {
      const correction = { ...offer, extra: { ...offer.extra, charged: `${owed}` } }
      return PaidShop.refuse(402, { accepts: [correction] })(response, arrival)
    }
    vouchers.push(ceiling)
    if (ceiling > accepted) accepted = ceiling
    return void stream(response).catch(() => response.destroy())
  })
  return Object.assign(shop, {
    vouchers,
    posts,
    charged: () => owed,
    idle: () => {
      for (const resolve of waiting) resolve(false)
      waiting.clear()
    },
    waits: () => new Promise<void>((resolve) => void watching.add(resolve))
  })
}

const headOf = (window: bigint) => ({
  ...protocolSeller.receiptHeaders(
    { ...PaidShop.receipt, transaction: "", amount: `${window}`, extra: { charged: `${window}` } },
    { now: 0 }
  )
})

const textOf = (value: unknown) => (typeof value === "string" ? BigInt(value) : undefined)

/** A buyer's signer through one channel with this much in it; `drawn` holds what it has signed, in order. */
export const signerOf = (balance = 1_000_000n) => {
  const drawn: Array<Pick<ChannelSigner.DrawRequest, "ceiling" | "deposit" | "follows">> = []
  const node = { balance }
  const signer: ChannelSigner.ChannelSigner = {
    channelOf: () => ({ id: channelId, terms: {}, withdrawDelay: 900, leastDeposit: 0n, wantedDeposit: 500n }),
    read: () => Effect.sync(() => ({ balance: node.balance, claimed: 0n, isClosing: false, time: 0 })),
    sign: ({ ceiling, deposit, follows }) =>
      Effect.sync(() => {
        drawn.push({ ceiling, deposit, follows })
        const made = deposit && { deposit: `${deposit.amount}` }
        const payload = { ceiling: `${ceiling}`, ...(follows && { follows }), ...made }
        return { payer: PaidShop.receipt.payer, payload, deposit: deposit && {} }
      }),
    signRefund: ({ charged }) =>
      Effect.succeed({ payer: PaidShop.receipt.payer, payload: { refund: `${charged}` }, deposit: undefined }),
    chargeOf: (extra) => textOf(extra["charged"]),
    correctionOf: ({ accepts }) => {
      const charged = textOf(accepts[0]?.extra?.["charged"])
      return charged === undefined ? undefined : { charged, proven: charged }
    }
  }
  const { schemeClient } = TestPayer.wallet()
  const client: OwnPurchase.PurchasingClient = {
    ...schemeClient,
    scheme: { ...schemeClient.scheme, name: "channel" },
    purchase: ChannelPurchase.make(signer)
  }
  return { client, drawn, node, ceilings: () => drawn.map(({ ceiling }) => ceiling) }
}
