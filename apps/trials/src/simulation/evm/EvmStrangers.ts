/**
 * Strangers on a simulated EVM chain: one with a copy of a signer's key, one who submits authorizations that payers have signed
 * before we do, and payers who take their money away.
 */
import { type EvmAddress, EvmHex } from "@pontage/evm"
import { TransferProbe } from "@pontage/evm/testing"

import type { EvmModelChain } from "./model/EvmModelChain.ts"
import { nonceAt } from "./model/EvmModelChain.ts"
import { slots } from "./model/EvmModelToken.ts"
import type { ModelTransaction } from "./model/EvmModelTransaction.ts"

/** Everything that has gone over the wires and could be submitted by whoever has heard it. */
export interface EvmStrangers {
  /** A request to a node that a stranger overhears; returns whether it contains something new. */
  readonly overhear: (method: string, params: ReadonlyArray<unknown>) => boolean
  /** Submits what was overheard and has not been used; the choice is drawn. */
  readonly submitOverheard: (below: (bound: number) => number) => void
  /** Uses a signer's next nonce. */
  readonly useSlot: (signer: EvmAddress.Address) => void
  /** The token's owner pauses it, or lets it go on. */
  readonly pause: (isPaused: boolean) => void
  /** A payer sends its whole balance away. */
  readonly empty: (payer: EvmAddress.Address) => void
}

/** The beginning of their transactions' hashes, which other hashes share only by chance. */
const mark = "0xf00d"

/** Whether strangers have sent a transaction. */
export const isStrangers = (transaction: string): boolean => transaction.startsWith(`${mark}${"0".repeat(40)}`)

const generous = 1_000_000_000_000n

/** Strangers of a chain. `account` is their own, with coin; `settler` takes packs of transfers. */
export const make = (
  chain: EvmModelChain,
  { account, owner, settler, token }: Readonly<Record<"account" | "owner" | "settler" | "token", EvmAddress.Address>>
): EvmStrangers => {
  const heard = new Map<string, Pick<ModelTransaction, "to" | "data">>()
  const used = new Set<string>()
  let serial = 0
  const send = (from: EvmAddress.Address, call: Pick<ModelTransaction, "to" | "data">, nonce: bigint) => {
    const id = (++serial).toString(16).padStart(60, "0")
    const fees = { maximum: generous, priority: generous / 2n }
    const hash: EvmHex.Hex = `${mark}${id}`
    chain.pool.drop(chain.pool.at(from, nonce)?.hash ?? "0x")
    chain.pool.restore({
      ...call,
      ...fees,
      hash,
      bytes: "0x",
      chainId: BigInt(chain.world.chainId),
      from,
      nonce,
      gas: 5_000_000n,
      value: 0n
    })
  }
  const sendNext = (from: EvmAddress.Address, call: Pick<ModelTransaction, "to" | "data">) =>
    send(from, call, chain.pool.behind(from, nonceAt(chain.head(), from)))
  return {
    overhear: (method, [asked]) => {
      const call = method === "eth_call" ? transferIn(asked, token, settler) : undefined
      if (call === undefined || used.has(call.data)) return false
      heard.set(call.data, call)
      return true
    },
    submitOverheard: (below) => {
      const call = [...heard.values()][below(Math.max(1, heard.size))]
      if (call === undefined) return
      heard.delete(call.data)
      used.add(call.data)
      sendNext(account, call)
    },
    useSlot: (signer) => send(signer, { to: account, data: "0x" }, nonceAt(chain.head(), signer)),
    pause: (isPaused) => sendNext(owner, { to: token, data: isPaused ? "0x8456cb59" : "0x3f4ba83a" }),
    empty: (payer) => {
      const all = chain.head().state.get(slots.balance(token, payer)) ?? 0n
      const data: EvmHex.Hex = `0xa9059cbb${account.slice(2).padStart(64, "0")}${EvmHex.toWord(all)}`
      sendNext(payer, { to: token, data })
    }
  }
}

/** The transfers of a simulated call, as a call that makes them. */
const transferIn = (
  asked: unknown,
  token: EvmAddress.Address,
  settler: EvmAddress.Address
): Pick<ModelTransaction, "to" | "data"> | undefined => {
  const { data, to }: { data?: unknown; to?: unknown } = typeof asked === "object" && asked !== null ? asked : {}
  if (!EvmHex.isHex(data)) return undefined
  if (to === undefined && data.startsWith(TransferProbe.bytecode)) {
    return { to: settler, data: `0xd0322fbf${data.slice(TransferProbe.bytecode.length)}` }
  }
  const isTransfer = to === token && (data.startsWith("0xe3ee160e") || data.startsWith("0xcf092995"))
  return isTransfer ? { to: token, data } : undefined
}
