/**
 * The virtual machine of TON, from `@ton/sandbox`: it returns the transaction of a message on an account's state, and the state
 * after it. It keeps nothing, so a message can be tried without changing the state.
 */
import {
  Address,
  beginCell,
  Cell,
  Dictionary,
  loadShardAccount,
  loadTransaction,
  parseTuple,
  type ShardAccount,
  storeShardAccount,
  type Transaction,
  type TupleItem
} from "@ton/core"
import { Blockchain, Executor } from "@ton/sandbox"

/** Time of a run. */
export interface ExecutionTime {
  /** Unix seconds. */
  readonly now: number
  readonly lt: bigint
}

/** Result of a message: a transaction, or for a message from outside also its rejection. */
export type ExecutionResult =
  | {
      readonly _tag: "Executed"
      readonly transaction: Transaction
      /** The account's state afterwards, a bag of cells in base64. */
      readonly account: string
    }
  | {
      readonly _tag: "NotAccepted"
      /** The machine's text. */
      readonly reason: string
      /** The contract's exit code; `undefined` when it did not run. */
      readonly exitCode: number | undefined
    }

/** Result of a get method; an exit code above 1 means failure. */
export interface GetMethodResult {
  readonly exitCode: number
  readonly gasUsed: number
  readonly stack: ReadonlyArray<TupleItem>
}

/** The machine under one configuration of the chain. */
export interface TonExecution {
  /** The chain's configuration: a dictionary of its parameters. */
  readonly config: Cell
  /** Runs a message on a state, as the chain does; `ignoreSignatures` is for estimates. */
  readonly run: (
    account: string,
    message: Cell,
    time: ExecutionTime,
    options?: { readonly ignoreSignatures: boolean }
  ) => Promise<ExecutionResult>
  /** Runs a get method of an active account. */
  readonly get: (
    account: string,
    method: string | number,
    stack: Array<TupleItem>,
    now: number
  ) => Promise<GetMethodResult>
}

const configKeys = Dictionary.Keys.Int(32)
const configValues = Dictionary.Values.Cell()

/** The parameter that holds the global id of the chain. */
const globalIdParameter = 19

/** Gas limit of a get method on public nodes. */
const getMethodGas = 1_000_000n

/** The method id of a name: its CRC16 with a flag that keeps it apart from ids of other kinds. */
const methodId = (method: string | number): number => {
  if (typeof method === "number") return method
  let crc = 0
  for (const byte of Buffer.from(method, "utf8")) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff
  }
  return crc | 0x10000
}

/** The parameters of a configuration by number. */
export const parameters = (config: Cell): Dictionary<number, Cell> =>
  config.beginParse().loadDictDirect(configKeys, configValues)

/** Writes a state as text. */
export const encodeAccount = (account: ShardAccount): string =>
  beginCell().store(storeShardAccount(account)).endCell().toBoc().toString("base64")

/** The inverse of {@link encodeAccount}. */
export const decodeAccount = (account: string): ShardAccount => loadShardAccount(Cell.fromBase64(account).beginParse())

/** A configuration with another global id. */
const withGlobalId = (config: Cell, globalId: number): Cell => {
  const dictionary = parameters(config).set(globalIdParameter, beginCell().storeInt(globalId, 32).endCell())
  return beginCell().storeDictDirect(dictionary, configKeys, configValues).endCell()
}

const toResult = ({ result }: Awaited<ReturnType<Executor["runTransaction"]>>): ExecutionResult => {
  if (!result.success) {
    return { _tag: "NotAccepted", reason: result.error, exitCode: result.vmResults?.vmExitCode }
  }
  const transaction = loadTransaction(Cell.fromBase64(result.transaction).beginParse())
  return { _tag: "Executed", transaction, account: result.shardAccount }
}

const runGet = async (
  executor: Executor,
  config: string,
  args: Parameters<TonExecution["get"]>
): Promise<GetMethodResult> => {
  const [account, method, stack, unixTime] = args
  const { account: state } = decodeAccount(account)
  if (state?.storage.state.type !== "active") return { exitCode: -13, gasUsed: 0, stack: [] }
  const { code, data } = state.storage.state.state
  const { output } = await executor.runGetMethod({
    code: code ?? Cell.EMPTY,
    data: data ?? Cell.EMPTY,
    methodId: methodId(method),
    stack,
    config,
    verbosity: "short",
    address: Address.parse(state.addr.toRawString()),
    unixTime,
    balance: state.storage.balance.coins,
    randomSeed: Buffer.alloc(32),
    gasLimit: getMethodGas,
    debugEnabled: false
  })
  if (!output.success) return { exitCode: -14, gasUsed: 0, stack: [] }
  const gasUsed = Number(output.gas_used)
  return { exitCode: output.vm_exit_code, gasUsed, stack: parseTuple(Cell.fromBase64(output.stack)) }
}

/**
 * Starts the machine with the given configuration, by default the main chain's prices and limits, and with this global id.
 */
export const make = async (globalId: number, given?: Cell): Promise<TonExecution> => {
  const executor = await Executor.create()
  const { config: slim } = await Blockchain.create({ config: "slim", executor })
  const config = withGlobalId(given ?? slim, globalId)
  const text = config.toBoc().toString("base64")
  return {
    config,
    run: async (shardAccount, message, { lt, now }, options) =>
      toResult(
        await executor.runTransaction({
          config: text,
          libs: null,
          verbosity: "short",
          shardAccount,
          message,
          now,
          lt,
          randomSeed: Buffer.alloc(32),
          ignoreChksig: options?.ignoreSignatures ?? false,
          debugEnabled: false
        })
      ),
    get: (...args) => runGet(executor, text, args)
  }
}
