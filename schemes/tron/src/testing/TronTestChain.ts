/**
 * A local chain ready for payments, as a scoped layer: a node of its own, a dollar token at the same address in every run, payers
 * with tokens and TRX for fees, facilitators with TRX to stake. Give each test file its own chain; chains are isolated.
 *
 * Every effect dies if the chain rejects it, because that is a mistake of the test. A transaction that should fail is sent by the
 * code under test, or through the node's HTTP API.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { TronDollar } from "./artifacts/TronDollar.ts"
import { sunPerTrx } from "./ledger/ChainParameters.ts"
import * as ContractCalls from "./ledger/ContractCalls.ts"
import type { DevChain, Found } from "./ledger/DevChain.ts"
import * as GenesisToken from "./ledger/GenesisToken.ts"
import * as TronCallData from "./machine/TronCallData.ts"
import type { Resource } from "./messages/TronContract.ts"
import * as NodeAddress from "./node/NodeAddress.ts"
import type { TronDevNodeFailed } from "./node/NodeHttp.ts"
import type { NodeTransaction } from "./node/NodeTransaction.ts"
import * as TronDevNode from "./TronDevNode.ts"
import * as TronTestAccounts from "./TronTestAccounts.ts"
import * as TronTestTransaction from "./TronTestTransaction.ts"

/** Options of the chain. */
export interface Options extends TronDevNode.Options {
  /** Number of payers; default 10. */
  readonly payers?: number
  /** Tokens of each payer, in atomic units; default 1,000 dollars. */
  readonly payerBalance?: bigint
  /** TRX of each payer for fees, in sun; default 1,000 TRX. With 0 the payer is not activated. */
  readonly payerSun?: bigint
}

/** The token. */
export interface TestToken {
  /** Base58check. */
  readonly address: string
  readonly symbol: string
  readonly decimals: number
}

/** A contract to deploy: one of the committed artifacts, or any other. */
export interface Artifact {
  readonly bytecode: string
}

/** A call to a contract. */
export interface TestCall {
  /** Default the deployer. */
  readonly from?: TronTestAccounts.TestAccount
  /** Default the token. */
  readonly contract?: string
  /** Such as `mint(address,uint256)`. */
  readonly signature: string
  readonly parameters?: ReadonlyArray<TronCallData.Parameter>
  /** Sun. */
  readonly feeLimit?: bigint
}

/** A `Transfer` event of a token. Addresses are in base58check. */
export interface TestTransfer {
  readonly token: string
  readonly from: string
  readonly to: string
  readonly value: bigint
  readonly blockNumber: number
  readonly transaction: string
}

type Signers = readonly [TronTestAccounts.TestAccount, ...Array<TronTestAccounts.TestAccount>]

/** A chain ready for payments. */
export interface Shape extends TronDevNode.Shape {
  readonly token: TestToken
  readonly accounts: TronTestAccounts.TestAccounts
  /** Builds and signs a transaction on the newest block without sending it; the first signer is its owner. */
  readonly sign: (
    request: TronTestTransaction.TransactionRequest,
    ...signers: Signers
  ) => Effect.Effect<NodeTransaction>
  /** Submits a transaction without waiting for a block; gives the id. */
  readonly submit: (request: TronTestTransaction.TransactionRequest, ...signers: Signers) => Effect.Effect<string>
  /** Submits a transaction and makes a block at once; a call that failed in the contract is in it too. */
  readonly send: (request: TronTestTransaction.TransactionRequest, ...signers: Signers) => Effect.Effect<Found>
  /** Calls a contract and makes a block; dies if the call fails. */
  readonly call: (call: TestCall) => Effect.Effect<Found>
  /** Creates tokens, in atomic units. */
  readonly mint: (to: string, value: bigint, token?: string) => Effect.Effect<void>
  /** Deploys a contract; gives its address in base58check. */
  readonly deploy: (artifact: Artifact) => Effect.Effect<string>
  /** Stakes sun of an account. */
  readonly stake: (account: TronTestAccounts.TestAccount, sun: bigint, resource?: Resource) => Effect.Effect<void>
  /** Balance of an account in a token, in atomic units; default the chain's own token. */
  readonly balanceOf: (account: string, token?: string) => Effect.Effect<bigint>
  /** Transfer events of a token in blocks, oldest first; default the chain's own token. */
  readonly transfers: (token?: string) => Effect.Effect<ReadonlyArray<TestTransfer>>
}

/** The service. */
export class TronTestChain extends Context.Service<TronTestChain, Shape>()("@pontage/tron/testing/TronTestChain") {}

const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
const tokenTerms = { symbol: "TUSD", decimals: 6 } as const
const deployerSun = 1_000_000n * sunPerTrx
const signerSun = 10_000_000n * sunPerTrx
const dollars = 1_000_000n

const balancesOf = ({ deployer, payers, signers, stranger }: TronTestAccounts.TestAccounts, payerSun: bigint) =>
  Object.fromEntries([
    [deployer.address, deployerSun],
    [stranger.address, deployerSun],
    ...signers.map(({ address }) => [address, signerSun] as const),
    ...(payerSun === 0n ? [] : payers.map(({ address }) => [address, payerSun] as const))
  ])

const hexOf = (address: string) => NodeAddress.toHex(address) ?? ""

const addressIn = (topic: string | undefined) => NodeAddress.toBase58(`41${(topic ?? "").slice(24)}`)

const transfersIn = ({ blocks }: DevChain, token: string): ReadonlyArray<TestTransfer> =>
  blocks.flatMap(({ number: blockNumber, transactions }) =>
    transactions.flatMap(({ receipt, transaction: { id: transaction } }) =>
      (receipt.call?.logs ?? [])
        .filter(({ address, topics }) => `41${address}` === hexOf(token) && topics[0] === transferTopic)
        .map(({ data, topics }) => {
          const [, from, to] = topics
          const value = BigInt(`0x${data}`)
          return { token, from: addressIn(from), to: addressIn(to), value, blockNumber, transaction }
        })
    )
  )

const simulate = (chain: DevChain, contract: string, signature: string, parameters: ReadonlyArray<string>) =>
  chain
    .exclusively(
      chain.tvm.simulate(
        {
          owner: hexOf(contract),
          contract: hexOf(contract),
          data: TronCallData.encode(signature, parameters),
          value: 0n,
          limit: 10_000_000n
        },
        chain.head
      )
    )
    .pipe(Effect.map(({ output }) => BigInt(`0x${output === "" ? "0" : output}`)))

const sending = (chain: DevChain) => {
  const sign = (request: TronTestTransaction.TransactionRequest, ...signers: Signers) =>
    Effect.orDie(TronTestTransaction.make(chain, request, signers))
  const submit = (request: TronTestTransaction.TransactionRequest, ...signers: Signers) =>
    sign(request, ...signers).pipe(
      Effect.flatMap((transaction) => Effect.as(Effect.orDie(chain.push(transaction)), transaction.id))
    )
  const send = Effect.fnUntraced(function* (request: TronTestTransaction.TransactionRequest, ...signers: Signers) {
    const id = yield* submit(request, ...signers)
    yield* chain.produce()
    return chain.find(id) ?? (yield* Effect.die(new Error(`No block included ${id}`)))
  })
  return { sign, submit, send }
}

const succeeded = (found: Found): Effect.Effect<Found> => {
  const ending = found.receipt.call?.ending ?? "SUCCESS"
  return ending === "SUCCESS"
    ? Effect.succeed(found)
    : Effect.die(new Error(`Transaction ${found.transaction.id} ended with ${ending}`))
}

const creation = (bytecode: string, owner: string) => ({
  contract: "CreateSmartContract" as const,
  fields: {
    new_contract: {
      origin_address: owner,
      bytecode,
      consume_user_resource_percent: 100,
      origin_energy_limit: 10_000_000,
      name: "Contract"
    }
  },
  feeLimit: 5_000_000_000n
})

/**
 * Starts a node ready for payments and stops it when the scope closes.
 *
 * @throws TronDevNodeFailed if the port is not available.
 */
export const make = Effect.fnUntraced(function* (options: Options = {}) {
  const { payerBalance = 1_000n * dollars, payers = 10, payerSun = 1_000n * sunPerTrx } = options
  const accounts = TronTestAccounts.make(payers)
  const { deployer } = accounts
  const balances = { ...balancesOf(accounts, payerSun), ...options.balances }
  let tokenHex = ""
  const { chain, node } = yield* TronDevNode.start({ ...options, balances }, (ledger, tvm, now) =>
    Effect.gen(function* () {
      const genesis = { ledger, tvm, now }
      const owner = hexOf(deployer.address)
      tokenHex = yield* GenesisToken.install(genesis, "Test Dollar", TronDollar.bytecode, owner)
      for (const { address } of accounts.payers) {
        yield* GenesisToken.call(genesis, owner, tokenHex, "mint(address,uint256)", [address, payerBalance])
      }
    })
  )
  const token = { address: NodeAddress.toBase58(tokenHex), ...tokenTerms }
  const { send, sign, submit } = sending(chain)
  const call = ({ contract = token.address, feeLimit, from = deployer, parameters = [], signature }: TestCall) =>
    send(
      {
        contract: "TriggerSmartContract",
        fields: { contract_address: contract, data: TronCallData.encode(signature, parameters) },
        ...(feeLimit !== undefined && { feeLimit })
      },
      from
    ).pipe(Effect.flatMap(succeeded))
  return TronTestChain.of({
    ...node,
    token,
    accounts,
    sign,
    submit,
    send,
    call,
    mint: (to, value, contract = token.address) =>
      Effect.asVoid(call({ contract, signature: "mint(address,uint256)", parameters: [to, value] })),
    deploy: ({ bytecode }) =>
      send(creation(bytecode, deployer.address), deployer).pipe(
        Effect.flatMap(succeeded),
        Effect.map(({ transaction }) =>
          NodeAddress.toBase58(ContractCalls.addressOf(transaction.id, hexOf(deployer.address)))
        )
      ),
    stake: (account, sun, resource = "ENERGY") =>
      Effect.asVoid(
        send({ contract: "FreezeBalanceV2Contract", fields: { frozen_balance: `${sun}`, resource } }, account)
      ),
    balanceOf: (account, contract = token.address) => simulate(chain, contract, "balanceOf(address)", [account]),
    transfers: (contract = token.address) => Effect.sync(() => transfersIn(chain, contract))
  })
})

/** {@link make} as a layer. */
export const layer = (options: Options = {}): Layer.Layer<TronTestChain, TronDevNodeFailed> =>
  Layer.effect(TronTestChain, make(options))
