/**
 * A local chain ready for payments, as a scoped layer: a node of its own, a dollar token at the same address in every run,
 * payers who own tokens and no coin, signers who own coin. Give each test file a chain of its own; they are independent.
 *
 * Every effect dies on the chain's error, which is a mistake of the test. For an expected failure use the code under test, or
 * `client`.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import {
  type Abi,
  type Address,
  type Chain,
  type Client,
  createTestClient,
  encodeDeployData,
  encodeFunctionData,
  type Hash,
  type Hex,
  http,
  type HttpTransport,
  isHash,
  parseEventLogs,
  type PublicActions,
  publicActions,
  type TestActions,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  type WalletActions,
  walletActions
} from "viem"
import { foundry } from "viem/chains"

import * as Anvil from "./Anvil.ts"
import * as AnvilControl from "./AnvilControl.ts"
import * as AnvilHeartbeat from "./AnvilHeartbeat.ts"
import { DollarToken } from "./artifacts/DollarToken.ts"
import * as EvmTestAccounts from "./EvmTestAccounts.ts"

/** Options of the chain. */
export interface Options extends Anvil.Options {
  /** The number of payers; default 10. */
  readonly payers?: number
  /** Each payer's balance, in atomic units; default 1,000 dollars. */
  readonly payerBalance?: bigint
}

/** The token and the EIP-712 domain its authorizations are signed under. */
export interface TestToken {
  readonly address: Address
  readonly name: string
  readonly version: string
  readonly symbol: string
  readonly decimals: number
}

/** A deployable contract: a committed artifact, or another one. */
export interface Artifact {
  readonly abi: Abi
  readonly bytecode: Hex
}

/** A call to a contract, sent by an account whose key the node holds: the deployer, a signer or the stranger. */
export interface TestTransaction {
  /** Default the deployer. */
  readonly from?: Address
  readonly to?: Address
  readonly data?: Hex
  readonly value?: bigint
  /** Default 5 million, enough for every call of the tests. */
  readonly gas?: bigint
}

/** A `Transfer` event of a token. */
export interface TestTransfer {
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly blockNumber: bigint
  readonly transactionHash: Hash
}

/** viem's client of the chain: test, public and wallet actions. Do not wait for receipts with it, use `receipt`. */
export type ChainClient = Client<
  HttpTransport,
  Chain,
  undefined,
  undefined,
  TestActions & PublicActions<HttpTransport, Chain> & WalletActions<Chain>
>

const makeClient = (rpcUrl: string, chainId: number): ChainClient =>
  createTestClient({
    mode: "anvil",
    chain: { ...foundry, id: chainId },
    pollingInterval: 10,
    // A busy machine mines thousands of blocks for minutes.
    transport: http(rpcUrl, { batch: true, retryCount: 0, timeout: 600_000 })
  })
    .extend(publicActions)
    .extend(walletActions)

/** A chain ready for payments. */
export interface Shape extends AnvilControl.AnvilControl {
  readonly rpcUrl: string
  readonly chainId: number
  /** `eip155:<chainId>` (CAIP-2). */
  readonly network: `eip155:${number}`
  readonly token: TestToken
  readonly accounts: EvmTestAccounts.TestAccounts
  readonly client: ChainClient
  /** Creates tokens, in atomic units. */
  readonly mint: (to: Address, value: bigint) => Effect.Effect<void>
  /** Deploys a contract. */
  readonly deploy: (artifact: Artifact, args?: ReadonlyArray<unknown>) => Effect.Effect<Address>
  /** Makes an account delegate to a contract (EIP-7702), by a real transaction. */
  readonly delegate: (account: EvmTestAccounts.TestAccount, to: Address) => Effect.Effect<void>
  /** Sends without waiting for a block. */
  readonly submit: (transaction: TestTransaction) => Effect.Effect<Hash>
  /** Sends and waits for the receipt; a reverted transaction has a receipt too. */
  readonly send: (transaction: TestTransaction) => Effect.Effect<TransactionReceipt>
  /** Waits for the receipt of a transaction; dies after 30 seconds of real time. */
  readonly receipt: (hash: Hash) => Effect.Effect<TransactionReceipt>
  /** An account's balance of a token, in atomic units. */
  readonly balanceOf: (account: Address, token?: Address) => Effect.Effect<bigint>
  /** The transfers that a token has logged, oldest first; by default all of the chain's own token. */
  readonly transfers: (filter?: {
    readonly token?: Address
    readonly fromBlock?: bigint
  }) => Effect.Effect<ReadonlyArray<TestTransfer>>
}

/** The service. */
export class EvmTestChain extends Context.Service<EvmTestChain, Shape>()("@pontage/evm/testing/EvmTestChain") {}

const tokenDomain = { name: "Test Dollar", version: "1", symbol: "TUSD", decimals: 6 } as const
const receiptAttempts = 3000
const receiptPauseMillis = 10

/** Polls for a receipt. The head may be ahead of the receipt: a client that waits for the next block would wait forever. */
const pollReceipt = async (client: ChainClient, hash: Hash): Promise<TransactionReceipt> => {
  for (let attempt = 0; attempt < receiptAttempts; attempt++) {
    // oxlint-disable-next-line no-await-in-loop -- each poll follows an empty one
    const receipt = await client.getTransactionReceipt({ hash }).catch((cause: unknown) => {
      if (cause instanceof TransactionReceiptNotFoundError) return undefined
      throw cause
    })
    if (receipt !== undefined) return receipt
    // oxlint-disable-next-line no-await-in-loop -- each poll follows an empty one
    await new Promise((resolve) => setTimeout(resolve, attempt < 10 ? 1 : receiptPauseMillis))
  }
  throw new Error(`No receipt of ${hash}: is mining switched off?`)
}

const quantity = (value: bigint): Hex => `0x${value.toString(16)}`

/** Lets the node sign: it holds the keys of the first ten accounts. */
const submitTo = (client: ChainClient, accounts: EvmTestAccounts.TestAccounts) => async (tx: TestTransaction) => {
  const params = {
    from: tx.from ?? accounts.deployer.address,
    gas: quantity(tx.gas ?? 5_000_000n),
    ...(tx.to === undefined ? {} : { to: tx.to }),
    ...(tx.data === undefined ? {} : { data: tx.data }),
    ...(tx.value === undefined ? {} : { value: quantity(tx.value) })
  }
  const hash: unknown = await client.transport.request({ method: "eth_sendTransaction", params: [params] })
  if (typeof hash !== "string" || !isHash(hash)) throw new Error("The node gave no transaction hash")
  return hash
}

const mintData = (to: Address, value: bigint) =>
  encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args: [to, value] })

const succeeded = (receipt: TransactionReceipt): TransactionReceipt => {
  if (receipt.status !== "success") throw new Error(`Transaction ${receipt.transactionHash} reverted`)
  return receipt
}

const readTransfers = async (client: ChainClient, token: Address, fromBlock: bigint) => {
  const logs = await client.getLogs({ address: token, fromBlock })
  return parseEventLogs({ abi: DollarToken.abi, eventName: "Transfer", logs }).map((log) => ({
    token: log.address,
    from: log.args.from,
    to: log.args.to,
    value: log.args.value,
    blockNumber: log.blockNumber,
    transactionHash: log.transactionHash
  }))
}

/** The number that fits into a block of 30 million gas. */
const mintsPerBlock = 200

/** Deploys the token and mints, in as few blocks as possible, independent of the chain's way of mining. */
const prepare = async (client: ChainClient, accounts: EvmTestAccounts.TestAccounts, options: Options) => {
  const submit = submitTo(client, accounts)
  const { name, symbol, version } = tokenDomain
  const creation = await submit({ data: encodeDeployData({ ...DollarToken, args: [name, symbol, version] }) })
  await client.mine({ blocks: 1 })
  const { contractAddress } = succeeded(await pollReceipt(client, creation))
  if (!contractAddress) throw new Error("The token was not deployed")
  const balance = options.payerBalance ?? 1_000_000_000n
  for (let first = 0; first < accounts.payers.length; first += mintsPerBlock) {
    const minted: Array<Hash> = []
    for (const { address } of accounts.payers.slice(first, first + mintsPerBlock)) {
      // The node gives two transactions that arrive together the same nonce.
      // oxlint-disable-next-line no-await-in-loop -- requests must arrive one by one
      minted.push(await submit({ to: contractAddress, data: mintData(address, balance), gas: 100_000n }))
    }
    // oxlint-disable-next-line no-await-in-loop -- blocks are filled one after another
    await client.mine({ blocks: 1 })
    // oxlint-disable-next-line no-await-in-loop -- blocks are filled one after another
    await Promise.all(minted.map(async (hash) => succeeded(await pollReceipt(client, hash))))
  }
  if (options.blockTime !== undefined) await client.setIntervalMining({ interval: options.blockTime })
  else if (options.noMining !== true) await client.setAutomine(true)
  return { address: contractAddress, ...tokenDomain }
}

/**
 * Starts a node and makes it ready; the node stops with the scope.
 *
 * @throws AnvilFailed when the node cannot be started.
 */
export const make = Effect.fnUntraced(function* (options: Options = {}) {
  const { blockTime: _, ...nodeOptions } = options
  const { rpcUrl, chainId } = yield* Anvil.make({ ...nodeOptions, noMining: true })
  const client = makeClient(rpcUrl, chainId)
  const accounts = EvmTestAccounts.make(options.payers ?? 10)
  const token = yield* Effect.promise(() => prepare(client, accounts, options))
  const submitNow = submitTo(client, accounts)
  const sendNow = async (transaction: TestTransaction) => pollReceipt(client, await submitNow(transaction))

  const deployNow = async (data: Hex): Promise<Address> => {
    const { contractAddress } = succeeded(await sendNow({ data }))
    if (!contractAddress) throw new Error("The contract was not deployed")
    return contractAddress
  }
  const delegateNow = async (account: EvmTestAccounts.TestAccount, contractAddress: Address) => {
    const authorization = await client.signAuthorization({ account, contractAddress })
    const authorizationList = [authorization]
    const { deployer } = accounts
    const transaction = { account: deployer, to: deployer.address, authorizationList, gas: 200_000n }
    succeeded(await pollReceipt(client, await client.sendTransaction(transaction)))
  }

  const control = AnvilControl.make((method, params) => client.transport.request({ method, params }))
  yield* AnvilHeartbeat.start(control)

  return EvmTestChain.of({
    ...control,
    rpcUrl,
    chainId,
    network: `eip155:${chainId}`,
    token,
    accounts,
    client,
    mint: (to, value) =>
      Effect.promise(async () => void succeeded(await sendNow({ to: token.address, data: mintData(to, value) }))),
    deploy: ({ abi, bytecode }, args) =>
      Effect.promise(() => deployNow(encodeDeployData({ abi, bytecode, ...(args === undefined ? {} : { args }) }))),
    delegate: (account, to) => Effect.promise(() => delegateNow(account, to)),
    submit: (transaction) => Effect.promise(() => submitNow(transaction)),
    send: (transaction) => Effect.promise(() => sendNow(transaction)),
    receipt: (hash) => Effect.promise(() => pollReceipt(client, hash)),
    balanceOf: (account, address = token.address) =>
      Effect.promise(() =>
        client.readContract({ address, abi: DollarToken.abi, functionName: "balanceOf", args: [account] })
      ),
    transfers: (filter = {}) =>
      Effect.promise(() => readTransfers(client, filter.token ?? token.address, filter.fromBlock ?? 0n))
  })
})

/** {@link make} as a layer. */
export const layer = (options: Options = {}): Layer.Layer<EvmTestChain, Anvil.AnvilFailed> =>
  Layer.effect(EvmTestChain, make(options))
