/**
 * Blocks, accounts and transactions in the form of toncenter's API v2: the fields that `TonClient` of `@ton/ton` checks, and
 * those that other clients read.
 */
import { createHash } from "node:crypto"

import {
  type Account,
  beginCell,
  Cell,
  loadTransaction,
  type Message,
  storeStateInit,
  type Transaction
} from "@ton/core"

import * as TonExecution from "./TonExecution.ts"
import type { LedgerBlock, LedgerTransaction } from "./TonLedger.ts"

/** The whole of a workchain as one shard. */
const wholeShard = "-9223372036854775808"

const base64 = (cell: Cell | null | undefined) => (cell ? cell.toBoc().toString("base64") : "")

const hexToBase64 = (hex: string) => Buffer.from(hex, "hex").toString("base64")

/** The id of a block in one of the two workchains. */
export const blockId = ({ hash, seqno }: Pick<LedgerBlock, "hash" | "seqno">, workchain: -1 | 0) => {
  const root = createHash("sha256").update(`${workchain}:${hash}`).digest("hex")
  const file = createHash("sha256").update(root).digest("base64")
  const id = { workchain, shard: wholeShard, seqno, root_hash: hexToBase64(root), file_hash: file }
  return { "@type": "ton.blockIdExt", ...id }
}

const transactionId = (lt: bigint, hash: string) => ({
  "@type": "internal.transactionId",
  lt: lt.toString(),
  hash
})

const stateFields = (state: Account["storage"]["state"] | undefined) => {
  const none = { code: "", data: "", frozen_hash: "" }
  switch (state?.type) {
    case "active":
      return { ...none, code: base64(state.state.code), data: base64(state.state.data), state: "active" }
    case "frozen": {
      const hash = state.stateHash.toString(16).padStart(64, "0")
      return { ...none, frozen_hash: hexToBase64(hash), state: "frozen" }
    }
    case "uninit":
    case undefined:
      return { ...none, state: "uninitialized" }
  }
}

/** The state of an account as of a block. */
export const addressInformation = (encoded: string, block: LedgerBlock) => {
  const { account, lastTransactionHash, lastTransactionLt } = TonExecution.decodeAccount(encoded)
  const hash = hexToBase64(lastTransactionHash.toString(16).padStart(64, "0"))
  return {
    "@type": "raw.fullAccountState",
    balance: (account?.storage.balance.coins ?? 0n).toString(),
    extra_currencies: [],
    last_transaction_id: transactionId(lastTransactionLt, hash),
    block_id: blockId(block, -1),
    sync_utime: block.utime,
    ...stateFields(account?.storage.state)
  }
}

const messageRecord = (message: Message) => {
  const { info } = message
  const internal = info.type === "internal" ? info : undefined
  return {
    "@type": "raw.message",
    hash: "",
    source: info.src && info.type !== "external-in" ? info.src.toString() : "",
    destination: info.dest ? info.dest.toString() : "",
    value: (internal?.value.coins ?? 0n).toString(),
    extra_currencies: [],
    fwd_fee: (internal?.forwardFee ?? 0n).toString(),
    ihr_fee: (internal?.ihrFee ?? 0n).toString(),
    created_lt: info.type === "external-in" ? "0" : info.createdLt.toString(),
    body_hash: message.body.hash().toString("base64"),
    msg_data: {
      "@type": "msg.dataRaw",
      body: base64(message.body),
      init_state: message.init ? base64(beginCell().store(storeStateInit(message.init)).endCell()) : ""
    },
    message: ""
  }
}

const storageFee = ({ description }: Transaction): bigint =>
  description.type === "generic" ? (description.storagePhase?.storageFeesCollected ?? 0n) : 0n

/** A complete transaction. */
export const transaction = ({ account, boc, hash, lt, utime }: LedgerTransaction) => {
  const loaded = loadTransaction(Cell.fromBase64(boc).beginParse())
  const fee = loaded.totalFees.coins
  const storage = storageFee(loaded)
  return {
    "@type": "raw.transaction",
    address: { "@type": "accountAddress", account_address: account },
    utime,
    data: boc,
    transaction_id: transactionId(lt, hexToBase64(hash)),
    fee: fee.toString(),
    storage_fee: storage.toString(),
    other_fee: (fee - storage).toString(),
    ...(loaded.inMessage ? { in_msg: messageRecord(loaded.inMessage) } : {}),
    out_msgs: loaded.outMessages.values().map(messageRecord)
  }
}

/** A transaction in the list of a block. */
export const shortTransaction = ({ account, hash, lt }: LedgerTransaction) => ({
  "@type": "blocks.shortTxId",
  mode: 135,
  account,
  lt: lt.toString(),
  hash: hexToBase64(hash)
})

/** The header of a block: its time, and the chain's global id. */
export const header = (block: LedgerBlock, workchain: -1 | 0, globalId: number) => {
  const lts = block.transactions.map(({ lt }) => lt)
  return {
    "@type": "blocks.header",
    id: blockId(block, workchain),
    global_id: globalId,
    version: 0,
    flags: 1,
    after_merge: false,
    after_split: false,
    before_split: false,
    want_merge: false,
    want_split: false,
    validator_list_hash_short: 0,
    catchain_seqno: 0,
    min_ref_mc_seqno: Math.max(0, block.seqno - 1),
    is_key_block: false,
    prev_key_block_seqno: 0,
    start_lt: (lts[0] ?? 0n).toString(),
    end_lt: (lts.at(-1) ?? 0n).toString(),
    gen_utime: block.utime,
    vert_seqno: 0,
    prev_blocks: []
  }
}
