/**
 * Buyers in front of a shop of channels, of three kinds: our client, whose calls of a channel take turns; the peer's, whose calls do not;
 * and the peer's with a single deposit, which signs vouchers that its channel does not cover. Each has a channel of its own, and notes each
 * voucher before it leaves and how each call ended. Ours has its channel refunded now and then.
 */
import { channelEvm, exactEvm, type EvmSigner } from "@pontage/evm"
import type { EvmTestAccounts } from "@pontage/evm/testing"
import { wrapFetch } from "@pontage/fetch"
import { toClientEvmSigner } from "@x402/evm"
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/client"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import * as Effect from "effect/Effect"
import { createPublicClient, type Hex, http } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import type { TrialRandom } from "../world/TrialRandom.ts"
import type { TrialWorld } from "../world/TrialWorld.ts"
import { deposit, goods, type GoodsName } from "./ChannelGoods.ts"

/** The kinds. */
export const buyerKinds = ["ours", "x402", "poor"] as const

/** One of them. */
export type BuyerKind = (typeof buyerKinds)[number]

/** A call and its end. `lost`: the buyer has no response, so the shop may have charged it or not. */
export interface ChannelCall {
  readonly goods: GoodsName
  readonly end: "served" | "refused" | "lost"
  /** Milliseconds of the monotonic clock. */
  readonly began: number
  readonly ended: number
  /** For people. */
  readonly detail: string
}

/** A buyer. */
export interface ChannelBuyer {
  readonly kind: BuyerKind
  readonly payer: Hex
  readonly privateKey: Hex
  /** The most calls that it has under way at once. */
  readonly together: number
  readonly calls: ReadonlyArray<ChannelCall>
  /** The channel of its vouchers, and the highest of them; `undefined` before the first. */
  readonly signed: () => { readonly channelId: string; readonly maximum: bigint } | undefined
  /** Makes a round of calls. */
  readonly buy: (luck: TrialRandom) => Effect.Effect<void>
}

/** Makes a buyer of these shops, which it calls in turn. */
export const make = (
  world: TrialWorld,
  shops: ReadonlyArray<string>,
  kind: BuyerKind,
  account: EvmTestAccounts.TestAccount
): ChannelBuyer => {
  const calls: Array<ChannelCall> = []
  let signed: { channelId: string; maximum: bigint } | undefined
  let called = 0
  const nextShop = () => shops[called++ % shops.length]
  const note = (message: Readonly<Record<string, unknown>>) => {
    const channelId = String(message["channelId"])
    const maximum = BigInt(String(message["maxClaimableAmount"]))
    if (signed === undefined || maximum > signed.maximum) signed = { channelId, maximum }
  }
  const own = kind === "ours" ? ours(world, account, note) : undefined
  const paying = own ?? peers(world, account, note, kind === "poor")
  const call = async (name: GoodsName) => {
    const query = signed === undefined ? "" : `?channel=${signed.channelId}`
    calls.push(await ended(name, () => paying(`${nextShop()}/${name}${query}`)))
  }
  return {
    kind,
    payer: account.address,
    privateKey: account.privateKey,
    together,
    calls,
    signed: () => signed,
    buy: (luck) =>
      Effect.promise(async () => {
        const names = Array.from({ length: luck.between(1, together) }, () => luck.pick(mix))
        await Promise.all(names.map(call))
        // A refund that is refused, or whose response is lost, is none of the calls: the audit finds what it has moved.
        if (own !== undefined && luck.perMille(refunds)) await own.refund(`${nextShop()}/plain`).catch(() => undefined)
      })
  }
}

/** Rounds of a thousand after which a buyer of ours has the rest of its channel refunded. */
const refunds = 250

/** Calls of a round at most. */
const together = 3

const mix: ReadonlyArray<GoodsName> = ["plain", "plain", "plain", "plain", "dear", "dear", "fail", "late"]

const ended = async (name: GoodsName, buy: () => Promise<Response>): Promise<ChannelCall> => {
  const began = performance.now()
  const over = () => ({ goods: name, began, ended: performance.now() })
  try {
    const response = await buy()
    const text = (await response.text()).slice(0, 200)
    const end = response.status === 200 ? "served" : "refused"
    return { ...over(), end, detail: `${response.status} ${text}` }
  } catch (error) {
    return { ...over(), end: "lost", detail: String(error).slice(0, 300) }
  }
}

type Note = (message: Readonly<Record<string, unknown>>) => void

const ours = ({ chain }: TrialWorld, { privateKey }: EvmTestAccounts.TestAccount, note: Note) => {
  const { network, rpcUrl, token } = chain
  const account = exactEvm.localSigner(privateKey)
  const signer: EvmSigner.EvmSigner = {
    address: account.address,
    signTypedData: (data) => {
      if (data.primaryType === "Voucher") note(data.message)
      return account.signTypedData(data)
    }
  }
  const requestsPerDeposit = Number(deposit / goods.plain.amount)
  const most = "1000000000"
  return wrapFetch(fetch, {
    schemes: [channelEvm.client({ signer, network, rpcUrl, requestsPerDeposit, assets: [{ network, ...token }] })],
    limits: { assets: { [token.address]: { perRequest: most, perChannel: most } } },
    onTrouble: () => undefined
  })
}

const peers = (
  { chain }: TrialWorld,
  { privateKey }: EvmTestAccounts.TestAccount,
  note: Note,
  isPoor: boolean
): typeof fetch => {
  const account = privateKeyToAccount(privateKey)
  const signer = toClientEvmSigner(
    {
      address: account.address,
      signTypedData: (data) => {
        if (data.primaryType === "Voucher") note(data.message)
        return account.signTypedData(data)
      }
    },
    createPublicClient({ transport: http(chain.rpcUrl) })
  )
  const scheme = new BatchSettlementEvmScheme(signer, {
    depositStrategy: ({ currentBalance, depositAmount }) =>
      isPoor && BigInt(currentBalance) > 0n ? false : depositAmount
  })
  const client = x402Client.fromConfig({ schemes: [{ network: chain.network, client: scheme }], spendControls: false })
  return wrapFetchWithPayment(fetch, client)
}
