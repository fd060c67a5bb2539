/**
 * A local TON chain ready for payments, as a scoped layer: a real virtual machine behind the HTTP API of a public node, two
 * jettons at the same addresses in every run, payers who own jettons and no TON, relayers who own TON. Give each test file
 * its own; they do not see each other.
 *
 * What the controls read and write goes past the HTTP API, so that its faults do not touch them. Every effect dies when the
 * chain refuses: in a test that is a mistake of the test. What is expected to fail goes through the code under test, or
 * through `client`. There are no reorganisations: the masterchain commits every block.
 *
 * The chain remembers `keepBlocks` blocks, with their transactions and the states of that time, and forgets older ones, so
 * that one that runs for long keeps its size; a transaction takes about 4 KB.
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

/** How the chain is made. */
export interface Options {
  /** When blocks are made; default `instant`. */
  readonly blocks?: TonBlockMaking.Blocks
  /** Payers with a W5, newcomers without, veterans with a V4R2; default 10, 3 and 3. */
  readonly payers?: number
  readonly newcomers?: number
  readonly veterans?: number
  /** What each of them owns of each jetton, in atomic units; default 1,000 dollars. */
  readonly payerBalance?: bigint
  /** The time of the first block, Unix seconds; default the machine's. */
  readonly timestamp?: number
  /** The TCP port; default one that is free. */
  readonly port?: number
  /** How many blocks are remembered; default 10,000. */
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
  /** The client of `@ton/ton`, at the HTTP API. */
  readonly client: TonClient
  /** What an account has in nanoton. */
  readonly coins: (address: Address) => Effect.Effect<bigint>
  /** What an owner has of a jetton, in atomic units; by default of the plain one. */
  readonly balanceOf: (owner: Address, jetton?: TestJetton.TestJetton) => Effect.Effect<bigint>
  /** What has arrived in an owner's jetton wallet, as far as it is remembered, oldest first; by default in the plain one's. */
  readonly credits: (owner: Address, jetton?: TestJetton.TestJetton) => Effect.Effect<ReadonlyArray<TestJetton.Credit>>
  /** The transactions of an account that are remembered, oldest first. */
  readonly transactions: (address: Address) => Effect.Effect<ReadonlyArray<Transaction>>
  /** Sends messages from an account's wallet, paid by it; they are executed with the next blocks. */
  readonly send: (
    account: TonTestAccounts.TestAccount,
    ...messages: ReadonlyArray<MessageRelaxed>
  ) => Effect.Effect<void>
  /** Creates jettons, by a message of their owner. */
  readonly mint: (owner: Address, amount: bigint, jetton?: TestJetton.TestJetton) => Effect.Effect<void>
  /** Locks an owner's wallet of the governed jetton or unlocks it, by a message of the jetton's owner. */
  readonly lock: (owner: Address, status: TestJetton.LockStatus) => Effect.Effect<void>
  /** Puts a contract there with this much TON, as if it had always been there. */
  readonly install: (init: Required<Pick<StateInit, "code" | "data">>, nanoton: bigint) => Effect.Effect<Address>
  /** Sets an account's TON, in nanoton. */
  readonly setCoins: (address: Address, nanoton: bigint) => Effect.Effect<void>
  /** The newest block. */
  readonly head: Effect.Effect<TonLedger.LedgerBlock>
  /** Makes a block now. */
  readonly block: Effect.Effect<TonLedger.LedgerBlock>
  /** Changes when blocks are made. */
  readonly setBlocks: (blocks: TonBlockMaking.Blocks) => Effect.Effect<void>
  /** The chain's time, Unix seconds. */
  readonly time: Effect.Effect<number>
  /** Puts the chain's time forward; the next block has it. */
  readonly setTime: (seconds: number) => Effect.Effect<void>
  /** How much is remembered. */
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
  if (!code || !data) throw new Error("A contract has code and data")
  const address = contractAddress(0, { code, data })
  ledger.put(address, TonExecution.encodeAccount(createShardAccount({ address, code, data, balance, workchain: 0 })))
  return address
}

/** A jetton wallet holds its balance, though its address comes from the empty one. */
const installHolding = (
  ledger: TonLedger.TonLedger,
  { jetton, wallet }: TestJetton.Deployment,
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

/** Accounts and jettons, written in before the first message. */
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

/** What an owner has, as its jetton wallet says. */
const askBalance = async (
  { execution, ledger }: ToncenterMethods.Chain,
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

/** Whether the transaction did all it was asked to. */
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

/** The seqno of a W5 wallet: after the flag that signatures are allowed. */
const seqnoOf = (ledger: TonLedger.TonLedger, address: Address): number => {
  const state = newest(ledger, address).account?.storage.state
  if (state?.type !== "active" || !state.state.data) return 0
  return state.state.data.beginParse().skip(1).loadUint(32)
}

const sendFrom = async (
  { afterSubmission, ledger }: ToncenterMethods.Chain,
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

/** The controls of a chain that runs. */
const controls = (
  chain: ToncenterMethods.Chain,
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
    balanceOf: (owner: Address, jetton = plain) => Effect.promise(() => askBalance(chain, jetton, owner)),
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
        if (!state.account) throw new Error("There is no such account")
        state.account.storage.balance.coins = nanoton
        ledger.put(address, TonExecution.encodeAccount(state))
      })
  }
}

/**
 * Starts a chain and makes it ready; everything goes away with the scope.
 *
 * @throws FacadeFailed when the port cannot be had.
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
