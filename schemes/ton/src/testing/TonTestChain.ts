/**
 * A local TON chain ready for payments, as a scoped layer: a real virtual machine behind the HTTP API of a public node, two
 * jettons at the same addresses in every run, payers with jettons and without TON, relayers with TON. Each test file needs
 * a chain of its own; chains are independent.
 *
 * The controls bypass the HTTP API, so its faults do not affect them. Every effect dies when the chain refuses: in a test that
 * is a mistake of the test. Requests that are expected to fail go through the code under test, or through `client`. The chain
 * has no reorganisations: the masterchain commits every block.
 *
 * The chain remembers `keepBlocks` blocks, with their transactions and states, and forgets older ones, so a chain that runs for
 * weeks keeps its size; a transaction takes about 4 KB.
 */
import {
  type Address,
  beginCell,
  Cell,
  contractAddress,
  external,
  internal,
  loadTransaction,
  type MessageRelaxed,
  SendMode,
  type StateInit,
  storeMessage,
  type Transaction
} from "@ton/core"
import { createShardAccount } from "@ton/sandbox"
import { TonClient } from "@ton/ton"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as TestJetton from "./TestJetton.ts"
import * as TonBlockMaking from "./TonBlockMaking.ts"
import * as ToncenterFacade from "./ToncenterFacade.ts"
import * as ToncenterMethods from "./ToncenterMethods.ts"
import * as TonExecution from "./TonExecution.ts"
import * as TonLedger from "./TonLedger.ts"
import * as TonTestAccounts from "./TonTestAccounts.ts"

/** Options of the chain. */
export interface Options {
  /** Schedule of the blocks; default `instant`. */
  readonly blocks?: TonBlockMaking.Blocks
  /** Number of payers with a W5, newcomers without, veterans with a V4R2; default 10, 3 and 3. */
  readonly payers?: number
  readonly newcomers?: number
  readonly veterans?: number
  /** Balance of each of them in each jetton, in atomic units; default 1,000 dollars. */
  readonly payerBalance?: bigint
  /** The time of the first block, Unix seconds; default the machine's. */
  readonly timestamp?: number
  /** The TCP port; default a free one. */
  readonly port?: number
  /** Blocks that are remembered; default 10,000. */
  readonly keepBlocks?: number
  /** The chain's configuration (prices, limits); default that of the main chain in the sandbox's slim form. */
  readonly config?: Cell
}

/** A chain ready for payments. */
export interface Shape extends ToncenterFacade.ToncenterFacade {
  readonly network: "ton:local"
  readonly globalId: number
  /** The plain jetton. */
  readonly jetton: TestJetton.TestJetton
  /** The jetton whose wallets can be locked. */
  readonly governed: TestJetton.TestJetton
  readonly accounts: TonTestAccounts.TestAccounts
  /** The client of `@ton/ton`, connected to the HTTP API. */
  readonly client: TonClient
  /** Balance of an account, in nanotons. */
  readonly coins: (address: Address) => Effect.Effect<bigint>
  /** Balance of an owner in a jetton, in atomic units; by default in the plain one. */
  readonly balanceOf: (owner: Address, jetton?: TestJetton.TestJetton) => Effect.Effect<bigint>
  /** Credits of an owner's jetton wallet in the remembered blocks, oldest first; by default of the plain jetton. */
  readonly credits: (owner: Address, jetton?: TestJetton.TestJetton) => Effect.Effect<ReadonlyArray<TestJetton.Credit>>
  /** Transactions of an account in the remembered blocks, oldest first. */
  readonly transactions: (address: Address) => Effect.Effect<ReadonlyArray<Transaction>>
  /** Sends messages from an account's wallet, at its cost; the next blocks execute them. */
  readonly send: (
    account: TonTestAccounts.TestAccount,
    ...messages: ReadonlyArray<MessageRelaxed>
  ) => Effect.Effect<void>
  /** Mints jettons, by a message of their owner. */
  readonly mint: (owner: Address, amount: bigint, jetton?: TestJetton.TestJetton) => Effect.Effect<void>
  /** Locks an owner's wallet of the governed jetton or unlocks it, by a message of the jetton's owner. */
  readonly lock: (owner: Address, status: TestJetton.LockStatus) => Effect.Effect<void>
  /** Writes a contract with this balance, in nanotons, into the state, without a transaction. */
  readonly install: (init: Required<Pick<StateInit, "code" | "data">>, nanoton: bigint) => Effect.Effect<Address>
  /** Sets an account's balance, in nanotons. */
  readonly setCoins: (address: Address, nanoton: bigint) => Effect.Effect<void>
  /** The newest block. */
  readonly head: Effect.Effect<TonLedger.LedgerBlock>
  /** Makes a block now. */
  readonly block: Effect.Effect<TonLedger.LedgerBlock>
  /** Changes the schedule of the blocks. */
  readonly setBlocks: (blocks: TonBlockMaking.Blocks) => Effect.Effect<void>
  /** The chain's time, Unix seconds. */
  readonly time: Effect.Effect<number>
  /** Moves the chain's time forward to Unix seconds; the next block has it. */
  readonly setTime: (seconds: number) => Effect.Effect<void>
  /** Number of remembered states, transactions and blocks. */
  readonly size: Effect.Effect<ReturnType<TonLedger.TonLedger["size"]>>
}

/** The service. */
export class TonTestChain extends Context.Service<TonTestChain, Shape>()("@pontage/ton/testing/TonTestChain") {}

const { globalId: globalIdOf, local } = TonNetwork
const globalId = globalIdOf(local)

const richNanoton = 1_000_000_000_000n
const walletNanoton = 10_000_000n
const validSeconds = 60
const messageNanoton = 100_000_000n
const defaultBalance = 1_000_000_000n

/** Writes a contract's state into the ledger. */
const install = (ledger: TonLedger.TonLedger, init: Required<Pick<StateInit, "code" | "data">>, balance: bigint) => {
  const { code, data } = init
  if (!code || !data) throw new Error("A contract needs code and data")
  const address = contractAddress(0, { code, data })
  ledger.put(address, TonExecution.encodeAccount(createShardAccount({ address, code, data, balance, workchain: 0 })))
  return address
}

/** A jetton wallet holds its balance, though its address comes from the empty one. */
const installHolding = (
  ledger: TonLedger.TonLedger,
  { jetton, wallet }: TestJetton.JettonDeployment,
  owner: Address,
  balance: bigint
) => {
  const account = createShardAccount({
    address: jetton.walletOf(owner),
    ...codeAndData(wallet(owner, balance)),
    balance: walletNanoton,
    workchain: 0
  })
  ledger.put(jetton.walletOf(owner), TonExecution.encodeAccount(account))
}

const codeAndData = ({ code, data }: StateInit) => ({ code: code ?? Cell.EMPTY, data: data ?? Cell.EMPTY })

/** Writes accounts and jettons into the state, before the first message. */
const furnish = (ledger: TonLedger.TonLedger, accounts: TonTestAccounts.TestAccounts, balance: bigint) => {
  const { deployer, newcomers, payers, relayers, stranger, veterans } = accounts
  const buyers = [...payers, ...newcomers, ...veterans].map(({ address }) => address)
  for (const { wallet } of [deployer, ...relayers, stranger]) install(ledger, wallet.init, richNanoton)
  for (const { wallet } of payers) install(ledger, wallet.init, 0n)
  for (const { wallet } of veterans) install(ledger, wallet.init, richNanoton)
  const deploy = (kind: TestJetton.TestJetton["kind"]) => {
    const deployment = TestJetton.make(kind, deployer.address)
    const { jetton, minter } = deployment
    const supply = balance * BigInt(buyers.length)
    const state = codeAndData(minter(supply))
    const { address } = jetton
    const account = createShardAccount({ address, ...state, balance: richNanoton, workchain: 0 })
    ledger.put(address, TonExecution.encodeAccount(account))
    for (const buyer of buyers) installHolding(ledger, deployment, buyer, balance)
    return jetton
  }
  return { jetton: deploy("plain"), governed: deploy("governed") }
}

const newest = (ledger: TonLedger.TonLedger, address: Address) =>
  TonExecution.decodeAccount(ledger.accountAt(address, ledger.head().seqno))

/** Balance of an owner, by the get method of its jetton wallet. */
const readBalance = async (
  { execution, ledger }: ToncenterMethods.ServedChain,
  jetton: TestJetton.TestJetton,
  owner: Address
): Promise<bigint> => {
  const { seqno, utime } = ledger.head()
  const account = ledger.accountAt(jetton.walletOf(owner), seqno)
  const { exitCode, stack } = await execution.get(account, "get_wallet_data", [], utime)
  const [balance] = stack
  return exitCode === 0 && balance?.type === "int" ? balance.value : 0n
}

const loaded = ({ boc }: TonLedger.LedgerTransaction): Transaction => loadTransaction(Cell.fromBase64(boc).beginParse())

/** Whether the transaction carried out its message and all actions. */
const succeeded = ({ description }: Transaction): boolean =>
  description.type === "generic" &&
  !description.aborted &&
  description.computePhase.type === "vm" &&
  description.computePhase.success &&
  description.actionPhase?.success === true

const creditsOf = (ledger: TonLedger.TonLedger, wallet: Address): ReadonlyArray<TestJetton.Credit> =>
  ledger.transactionsOf(wallet, ledger.head().seqno).flatMap((entry) => {
    const transaction = loaded(entry)
    const { inMessage } = transaction
    if (inMessage?.info.type !== "internal" || inMessage.info.bounced || !succeeded(transaction)) return []
    const credit = TestJetton.arrived(inMessage.body)
    return credit === undefined ? [] : [{ ...credit, transaction: entry.hash, lt: entry.lt, block: entry.block }]
  })

/** The seqno of a W5 wallet: it follows the flag for signatures. */
const seqnoOf = (ledger: TonLedger.TonLedger, address: Address): number => {
  const state = newest(ledger, address).account?.storage.state
  if (state?.type !== "active" || !state.state.data) return 0
  return state.state.data.beginParse().skip(1).loadUint(32)
}

const sendFrom = async (
  { afterSubmission, ledger }: ToncenterMethods.ServedChain,
  { address, secretKey, wallet }: TonTestAccounts.TestAccount,
  messages: ReadonlyArray<MessageRelaxed>,
  now: number
) => {
  const seqno = seqnoOf(ledger, address)
  const transfer = {
    seqno,
    secretKey,
    sendMode: SendMode.PAY_GAS_SEPARATELY + SendMode.IGNORE_ERRORS,
    messages: [...messages],
    timeout: now + validSeconds
  }
  const body = wallet.createTransfer(transfer)
  const init = newest(ledger, address).account?.storage.state.type === "active" ? undefined : wallet.init
  const message = beginCell()
    .store(storeMessage(external({ to: address, init, body })))
    .endCell()
  const acceptance = await ledger.submit(address, message)
  if (acceptance._tag === "NotAccepted") throw new Error(`${acceptance.reason} (${acceptance.exitCode})`)
  await afterSubmission()
}

/** The controls of a running chain. */
const controls = (
  chain: ToncenterMethods.ServedChain,
  accounts: TonTestAccounts.TestAccounts,
  { governed, jetton: plain }: { readonly jetton: TestJetton.TestJetton; readonly governed: TestJetton.TestJetton },
  now: () => number
) => {
  const { ledger } = chain
  const send = (account: TonTestAccounts.TestAccount, messages: ReadonlyArray<MessageRelaxed>) =>
    Effect.promise(() => sendFrom(chain, account, messages, now()))
  const order = (to: Address, body: Cell) => send(accounts.deployer, [internal({ to, value: messageNanoton, body })])
  return {
    coins: (address: Address) => Effect.sync(() => newest(ledger, address).account?.storage.balance.coins ?? 0n),
    balanceOf: (owner: Address, jetton = plain) => Effect.promise(() => readBalance(chain, jetton, owner)),
    credits: (owner: Address, jetton = plain) => Effect.sync(() => creditsOf(ledger, jetton.walletOf(owner))),
    transactions: (address: Address) =>
      Effect.sync(() => ledger.transactionsOf(address, ledger.head().seqno).map(loaded)),
    send: (account: TonTestAccounts.TestAccount, ...messages: ReadonlyArray<MessageRelaxed>) => send(account, messages),
    mint: (owner: Address, amount: bigint, jetton = plain) => order(jetton.address, TestJetton.mintBody(owner, amount)),
    lock: (owner: Address, status: TestJetton.LockStatus) =>
      order(governed.address, TestJetton.lockBody(owner, status)),
    install: (init: Required<Pick<StateInit, "code" | "data">>, nanoton: bigint) =>
      Effect.sync(() => install(ledger, init, nanoton)),
    setCoins: (address: Address, nanoton: bigint) =>
      Effect.sync(() => {
        const state = newest(ledger, address)
        if (!state.account) throw new Error("The account does not exist")
        state.account.storage.balance.coins = nanoton
        ledger.put(address, TonExecution.encodeAccount(state))
      })
  }
}

/**
 * Starts a chain with its accounts and jettons; the end of the scope stops it.
 *
 * @throws FacadeFailed when the port is not available.
 */
export const make = Effect.fnUntraced(function* (options: Options = {}) {
  const { now, set } = yield* TonBlockMaking.makeTime(options.timestamp)
  const execution = yield* Effect.promise(() => TonExecution.make(globalId, options.config))
  const ledger = TonLedger.make({ execution, now, keepBlocks: options.keepBlocks ?? 10_000 })
  const { newcomers = 3, payers = 10, veterans = 3 } = options
  const accounts = TonTestAccounts.make({ newcomers, payers, veterans })
  const jettons = furnish(ledger, accounts, options.payerBalance ?? defaultBalance)
  const making = yield* TonBlockMaking.make(ledger, now, options.blocks ?? "instant")
  const chain = { ledger, execution, globalId, afterSubmission: making.afterSubmission }
  const facade = yield* ToncenterFacade.make(ToncenterMethods.make(chain), {
    ...(options.port !== undefined && { port: options.port }),
    beforeEach: making.beforeReading
  })
  return TonTestChain.of({
    ...facade,
    ...controls(chain, accounts, jettons, now),
    network: "ton:local",
    globalId,
    ...jettons,
    accounts,
    client: new TonClient({ endpoint: facade.rpcUrl }),
    head: Effect.sync(ledger.head),
    block: Effect.promise(ledger.block),
    setBlocks: (blocks) => Effect.promise(() => making.change(blocks)),
    time: Effect.sync(now),
    setTime: (seconds) => Effect.sync(() => set(seconds)),
    size: Effect.sync(ledger.size)
  })
})

/** {@link make} as a layer. */
export const layer = (options: Options = {}): Layer.Layer<TonTestChain, ToncenterFacade.FacadeFailed> =>
  Layer.effect(TonTestChain, make(options))
