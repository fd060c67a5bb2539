/**
 * The methods of toncenter's API v2 that a client of a chain needs, over a {@link TonLedger}: parameters, results and error
 * texts.
 */
import { Address, beginCell, Cell, external, loadMessage, type StateInit, storeMessage } from "@ton/core"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import * as ToncenterRecord from "./ToncenterRecord.ts"
import { refuse } from "./ToncenterRefusal.ts"
import * as ToncenterStack from "./ToncenterStack.ts"
import * as TonExecution from "./TonExecution.ts"
import type { LedgerBlock, LedgerTransaction, TonLedger } from "./TonLedger.ts"

/** The chain that the methods serve. */
export interface ServedChain {
  readonly ledger: TonLedger
  readonly execution: TonExecution.TonExecution
  readonly globalId: number
  /** Makes the block of an accepted message, where messages do not wait for one. */
  readonly afterSubmission: () => Promise<unknown>
}

/** Faults of one response. */
export interface ResponseFaults {
  /** Blocks that the response is behind the chain. */
  readonly lag: number
  /** A message from outside gets the response of an accepted one, and is dropped. */
  readonly isDropped: boolean
}

/** Serves one request. */
export type Method = (params: unknown, faults: ResponseFaults) => Promise<unknown>

/** Limits of a message from outside, as on the public chains. */
const maximumMessageBytes = 65_535
const maximumMessageDepth = 512
const maximumTransactions = 100

const Numeric = Schema.Union([Schema.Int, Schema.String.check(Schema.isPattern(/^-?[0-9]{1,20}$/))])
const Base64 = Schema.String.check(Schema.isPattern(/^[A-Za-z0-9+/_-]*={0,2}$/))
const AddressText = Schema.String.check(Schema.isMaxLength(80))
const Seqno = { seqno: Schema.optionalKey(Numeric) }

const addressOf = (text: string): Address => {
  try {
    return Address.parse(text)
  } catch {
    throw refuse(416, "Incorrect address")
  }
}

const cellOf = (base64: string): Cell => {
  const bytes = Buffer.from(base64, "base64")
  if (bytes.length > maximumMessageBytes) throw refuse(500, "LITE_SERVER_UNKNOWN: too big message")
  try {
    const [root, ...others] = Cell.fromBoc(bytes)
    if (root !== undefined && others.length === 0) return root
  } catch {
    // Refused below, like a bag of several roots.
  }
  throw refuse(500, "LITE_SERVER_UNKNOWN: cannot deserialize bag of cells")
}

/** A message from outside and its destination. */
const externalMessage = (boc: string): { readonly cell: Cell; readonly destination: Address } => {
  const cell = cellOf(boc)
  if (cell.depth() > maximumMessageDepth) throw refuse(500, "LITE_SERVER_UNKNOWN: message is too deep")
  try {
    const { info } = loadMessage(cell.beginParse())
    if (info.type === "external-in") return { cell, destination: info.dest }
  } catch {
    // Refused below, like a message of another kind.
  }
  throw refuse(500, "LITE_SERVER_UNKNOWN: cannot unpack external message")
}

/** The error of a public node for a message that its account does not accept. */
const notAccepted = (destination: Address, exitCode: number | undefined) => {
  const account = destination.hash.toString("hex").toUpperCase()
  const run = "cannot apply external message to current state : External message was not accepted"
  const why =
    exitCode === undefined
      ? `by account ${account} before smart-contract execution`
      : `by transaction ${account}:\nexitcode=${exitCode}, steps=0, gas_used=0`
  const words = `LITE_SERVER_UNKNOWN: ${run}\nCannot run message on account: inbound external message rejected ${why}`
  return refuse(500, words)
}

const method =
  <Params>(schema: Schema.Codec<Params, unknown>, run: (params: Params, faults: ResponseFaults) => unknown): Method =>
  async (params, faults) => {
    const decoded = Schema.decodeUnknownOption(schema)(params)
    if (Option.isNone(decoded)) throw refuse(422, "Unprocessable params")
    return run(decoded.value, faults)
  }

const workchainOf = (workchain: number | string): -1 | 0 => {
  if (Number(workchain) === -1) return -1
  if (Number(workchain) === 0) return 0
  throw refuse(500, "LITE_SERVER_NOTREADY: block is not applied")
}

/** The first block at or after a logical time. */
const blockAtTime = ({ ledger }: ServedChain, newest: LedgerBlock, time: bigint): LedgerBlock => {
  let found: LedgerBlock | undefined
  for (let seqno = newest.seqno; seqno > 0; seqno--) {
    const block = ledger.blockAt(seqno)
    const end = block?.transactions.at(-1)?.lt
    if (block === undefined || (end !== undefined && end < time)) break
    if (end !== undefined) found = block
  }
  if (found === undefined) throw refuse(500, `LITE_SERVER_NOTREADY: no block at the logical time ${time}`)
  return found
}

const blockMethods = (chain: ServedChain, view: (lag: number, seqno?: number | string) => LedgerBlock) => {
  const { globalId } = chain
  const Block = Schema.Struct({ workchain: Numeric, seqno: Numeric })
  const Place = Schema.Struct({
    workchain: Numeric,
    seqno: Schema.optionalKey(Numeric),
    lt: Schema.optionalKey(Numeric)
  })
  return {
    getMasterchainInfo: method(Schema.Struct({}), (_, { lag }) => {
      const last = ToncenterRecord.blockId(view(lag), -1)
      const init = ToncenterRecord.blockId({ seqno: 0, hash: "" }, -1)
      return { "@type": "blocks.masterchainInfo", last, state_root_hash: last.root_hash, init }
    }),
    getConsensusBlock: method(Schema.Struct({}), (_, { lag }) => {
      const { seqno, utime } = view(lag)
      return { consensus_block: seqno, timestamp: utime }
    }),
    shards: method(Schema.Struct({ seqno: Numeric }), ({ seqno }, { lag }) => ({
      "@type": "blocks.shards",
      shards: [ToncenterRecord.blockId(view(lag, seqno), 0)]
    })),
    lookupBlock: method(Place, ({ lt, seqno, workchain }, { lag }) => {
      const block = lt === undefined ? view(lag, seqno) : blockAtTime(chain, view(lag), BigInt(lt))
      return ToncenterRecord.blockId(block, workchainOf(workchain))
    }),
    getBlockHeader: method(Block, ({ seqno, workchain }, { lag }) =>
      ToncenterRecord.header(view(lag, seqno), workchainOf(workchain), globalId)
    ),
    getBlockTransactions: method(Block, ({ seqno, workchain }, { lag }) => {
      const block = view(lag, seqno)
      const wanted = `${workchainOf(workchain)}:`
      const transactions = block.transactions.filter(({ account }) => account.startsWith(wanted))
      return {
        "@type": "blocks.transactions",
        id: ToncenterRecord.blockId(block, workchainOf(workchain)),
        req_count: transactions.length,
        incomplete: false,
        transactions: transactions.map(ToncenterRecord.shortTransaction)
      }
    })
  }
}

const page = (
  all: ReadonlyArray<LedgerTransaction>,
  { from, limit, until }: { readonly from?: bigint; readonly until: bigint; readonly limit: number }
) => {
  const newest = all.toReversed()
  const start = from === undefined ? 0 : newest.findIndex(({ lt }) => lt === from)
  if (start < 0) throw refuse(500, "LITE_SERVER_UNKNOWN: cannot compute block with specified transaction: lt not in db")
  return newest
    .slice(start)
    .filter(({ lt }) => lt > until)
    .slice(0, limit)
}

const found = (transaction: LedgerTransaction | undefined) => {
  if (transaction === undefined) throw refuse(500, "LITE_SERVER_NOTREADY: message not found")
  return ToncenterRecord.transaction(transaction)
}

const transactionMethods = ({ ledger }: ServedChain, view: (lag: number) => LedgerBlock) => {
  const of = (address: string, lag: number) => ledger.transactionsOf(addressOf(address), view(lag).seqno)
  const Link = Schema.Struct({ source: AddressText, destination: AddressText, created_lt: Numeric })
  return {
    getTransactions: method(
      Schema.Struct({
        address: AddressText,
        limit: Schema.optionalKey(Numeric),
        lt: Schema.optionalKey(Numeric),
        hash: Schema.optionalKey(Schema.String),
        to_lt: Schema.optionalKey(Numeric)
      }),
      ({ address, limit = 10, lt, to_lt = 0 }, { lag }) => {
        if (Number(limit) < 1 || Number(limit) > maximumTransactions) throw refuse(422, "limit: out of range")
        const range = { until: BigInt(to_lt), limit: Number(limit), ...(lt === undefined ? {} : { from: BigInt(lt) }) }
        return page(of(address, lag), range).map(ToncenterRecord.transaction)
      }
    ),
    tryLocateResultTx: method(Link, ({ created_lt, destination, source }, { lag }) => {
      const from = addressOf(source).toRawString()
      const lt = BigInt(created_lt)
      return found(of(destination, lag).find(({ cause }) => cause?.createdLt === lt && cause.source === from))
    }),
    tryLocateSourceTx: method(Link, ({ created_lt, destination, source }, { lag }) => {
      const to = addressOf(destination).toRawString()
      const lt = BigInt(created_lt)
      const isCause = ({ effects }: LedgerTransaction) =>
        effects.some((effect) => effect.createdLt === lt && effect.destination === to)
      return found(of(source, lag).find(isCause))
    })
  }
}

const configInfo = (cell: Cell) => ({
  "@type": "configInfo",
  config: { "@type": "tvm.cell", bytes: cell.toBoc().toString("base64") }
})

const accountMethods = (
  { execution, ledger }: ServedChain,
  view: (lag: number, seqno?: number | string) => LedgerBlock
): Record<string, Method> => {
  const Account = Schema.Struct({ address: AddressText, ...Seqno })
  return {
    getAddressInformation: method(Account, ({ address, seqno }, { lag }) => {
      const block = view(lag, seqno)
      return ToncenterRecord.addressInformation(ledger.accountAt(addressOf(address), block.seqno), block)
    }),
    getShardAccountCell: method(Account, ({ address, seqno }, { lag }) => ({
      "@type": "tvm.cell",
      bytes: ledger.accountAt(addressOf(address), view(lag, seqno).seqno)
    })),
    runGetMethod: method(
      Schema.Struct({
        address: AddressText,
        method: Schema.Union([Schema.Int, Schema.String.check(Schema.isMaxLength(128))]),
        stack: Schema.optionalKey(Schema.Array(ToncenterStack.StackArgument).check(Schema.isMaxLength(255))),
        ...Seqno
      }),
      async ({ address, method: name, seqno, stack = [] }, { lag }) => {
        const block = view(lag, seqno)
        const account = ledger.accountAt(addressOf(address), block.seqno)
        const result = await execution.get(account, name, stack.map(ToncenterStack.toItem), block.utime)
        return {
          "@type": "smc.runResult",
          gas_used: result.gasUsed,
          stack: result.stack.map(ToncenterStack.fromItem),
          exit_code: result.exitCode,
          block_id: ToncenterRecord.blockId(block, -1),
          last_transaction_id: ToncenterRecord.addressInformation(account, block).last_transaction_id
        }
      }
    ),
    getConfigAll: method(Schema.Struct(Seqno), () => configInfo(execution.config)),
    getConfigParam: method(
      Schema.Struct({ param: Schema.optionalKey(Numeric), config_id: Schema.optionalKey(Numeric), ...Seqno }),
      ({ config_id, param = config_id }) => {
        const cell = TonExecution.parameters(execution.config).get(Number(param))
        if (cell === undefined) throw refuse(500, "LITE_SERVER_UNKNOWN: config parameter not found")
        return configInfo(cell)
      }
    )
  }
}

const Estimate = Schema.Struct({
  address: AddressText,
  body: Base64,
  init_code: Schema.optionalKey(Base64),
  init_data: Schema.optionalKey(Base64),
  ignore_chksig: Schema.optionalKey(Schema.Boolean)
})

const initOf = ({ init_code = "", init_data = "" }: typeof Estimate.Type): StateInit | undefined =>
  init_code === "" || init_data === "" ? undefined : { code: cellOf(init_code), data: cellOf(init_data) }

/** Estimates the cost of a message for its account, by running it on the current state. */
const estimateFee = ({ execution, ledger }: ServedChain, view: (lag: number) => LedgerBlock) =>
  method(Estimate, async (params, { lag }) => {
    const to = addressOf(params.address)
    const message = external({ to, body: cellOf(params.body), init: initOf(params) })
    const { seqno, utime } = view(lag)
    const lastLt = ledger.head().transactions.at(-1)?.lt ?? 0n
    const outcome = await execution.run(
      ledger.accountAt(to, seqno),
      beginCell().store(storeMessage(message)).endCell(),
      { now: utime, lt: lastLt + 1_000_000n },
      { ignoreSignatures: params.ignore_chksig ?? true }
    )
    if (outcome._tag === "NotAccepted") throw notAccepted(to, outcome.exitCode)
    const { description, totalFees } = outcome.transaction
    if (description.type !== "generic") throw refuse(500, "LITE_SERVER_UNKNOWN: not an ordinary transaction")
    const storage = description.storagePhase?.storageFeesCollected ?? 0n
    const gas = description.computePhase.type === "vm" ? description.computePhase.gasFees : 0n
    const forward = description.actionPhase?.totalFwdFees ?? 0n
    const action = description.actionPhase?.totalActionFees ?? 0n
    return {
      "@type": "query.fees",
      source_fees: {
        "@type": "fees",
        in_fwd_fee: Number(totalFees.coins - storage - gas - action),
        storage_fee: Number(storage),
        gas_fee: Number(gas),
        fwd_fee: Number(forward)
      },
      destination_fees: []
    }
  })

const sending = ({ afterSubmission, ledger }: ServedChain) => {
  const Boc = Schema.Struct({ boc: Base64 })
  const send = async (boc: string, isDropped: boolean): Promise<Cell> => {
    const { cell, destination } = externalMessage(boc)
    if (isDropped) return cell
    const acceptance = await ledger.submit(destination, cell)
    if (acceptance._tag === "NotAccepted") throw notAccepted(destination, acceptance.exitCode)
    await afterSubmission()
    return cell
  }
  return {
    sendBoc: method(Boc, async ({ boc }, { isDropped }) => {
      await send(boc, isDropped)
      return { "@type": "ok" }
    }),
    sendBocReturnHash: method(Boc, async ({ boc }, { isDropped }) => {
      const hash = (await send(boc, isDropped)).hash().toString("base64")
      return { "@type": "raw.extMessageInfo", hash }
    })
  }
}

/** The methods of a chain, by name. */
export const make = (chain: ServedChain): ReadonlyMap<string, Method> => {
  const { ledger } = chain
  const view = (lag: number, seqno?: number | string): LedgerBlock => {
    const newest = Math.max(1, ledger.head().seqno - lag)
    const wanted = seqno === undefined ? newest : Number(seqno)
    const block = wanted > newest ? undefined : ledger.blockAt(wanted)
    if (block !== undefined) return block
    throw refuse(500, `LITE_SERVER_NOTREADY: block ${wanted} is not in db`)
  }
  const blocks = blockMethods(chain, view)
  return new Map(
    Object.entries({
      ...blocks,
      ...transactionMethods(chain, view),
      ...accountMethods(chain, view),
      ...sending(chain),
      estimateFee: estimateFee(chain, view)
    })
  )
}
