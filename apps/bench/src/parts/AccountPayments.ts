/**
 * The gas of a payment by account, way to pay and number of payments at once, and the CPU time of its verification: of the first
 * payment, which deploys the account or delegates it, and of a later one. All are in a token of USDC's shape, behind a proxy, but for
 * those that are named to be in a token of USDT's shape, without one.
 */
import { Binding, type Payment, type PaymentFailure, type SchemeFacilitator, type SigningFailed } from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import {
  deployBatchSettler,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  deployPermitSettler,
  EvmCrypto,
  EvmNetwork,
  type EvmSigner,
  exactEvm
} from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import {
  type Anvil,
  type EvmTestAccounts,
  EvmTestChain,
  Permit2Contracts,
  PlainToken,
  SmartAccountContracts,
  SmartAccounts
} from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { type Address, encodeFunctionData, isAddress, isHash } from "viem"
import { toSimple7702SmartAccount } from "viem/account-abstraction"

import type { Row } from "../Row.ts"

type Failure = Anvil.AnvilFailed | PaymentFailure | SigningFailed

const sizes = [1, 10, 25, 50]
const payers = sizes.reduce((sum, size) => sum + size, 0)
/** 1,000 dollars. */
const balance = 1_000_000_000n

/** A kind of account: how one is made of a key, and how it is called. */
interface Kind {
  readonly name: string
  readonly isBatched: boolean
  /** Whether its first payment deploys or delegates it. */
  readonly isMade: boolean
  readonly make: (
    chain: EvmTestChain.Shape,
    owner: EvmTestAccounts.TestAccount,
    isFirst: boolean
  ) => Promise<EvmSigner.EvmSigner>
  /** The most gas that its later payments may use, 25 at once. */
  readonly target?: number
  /** Whether it has approved Permit2, and pays by it. */
  readonly isByPermit2?: boolean
  /** Whether it pays in the token of USDT's shape. */
  readonly isPlain?: boolean
  /** Whether a later payment has the next number of the first one's nonce key, which spares the chain a fresh word. */
  readonly isInSequence?: boolean
}

/** The chain, its facilitator and its tokens, the same for all kinds. */
interface World {
  readonly chain: EvmTestChain.Shape
  readonly scheme: SchemeFacilitator
  /** The token of USDT's shape. */
  readonly plain: Address
}

const pays = "userOperations"

const kinds: ReadonlyArray<Kind> = [
  {
    name: "plain account by EIP-3009",
    isBatched: true,
    isMade: false,
    make: async (_, owner) => owner,
    target: 49_000
  },
  {
    name: "plain account by Permit2",
    isBatched: true,
    isMade: false,
    make: async (_, owner) => owner,
    isByPermit2: true
  },
  {
    name: "SimpleAccount 0.8",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.simple(chain, owner, "0.8"), { pays })
  },
  {
    name: "SimpleAccount 0.7",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.simple(chain, owner, "0.7"), { pays })
  },
  {
    name: "Safe 1.4.1",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.safe(chain, owner), { pays })
  },
  {
    name: "Simple7702Account",
    isBatched: true,
    isMade: true,
    make: async ({ client }, owner) =>
      exactEvm.smartAccount(await toSimple7702SmartAccount({ client, owner }), { pays })
  },
  {
    name: "Safe 1.4.1 by EIP-3009",
    isBatched: false,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.safe(chain, owner, { salt: 1n }))
  },
  {
    name: "SimpleAccount 0.8 in USDT's shape",
    isBatched: true,
    isMade: true,
    make: async (chain, owner) => exactEvm.smartAccount(await SmartAccounts.simple(chain, owner, "0.8", 1n), { pays }),
    isPlain: true,
    target: 70_000
  },
  {
    name: "SimpleAccount 0.8 in USDT's shape, in sequence",
    isBatched: true,
    isMade: true,
    make: async (chain, owner, isFirst) => {
      const account = await SmartAccounts.simple(chain, owner, "0.8", 2n)
      const second: typeof account.signUserOperation = ({ nonce, ...operation }) =>
        account.signUserOperation({ ...operation, nonce: nonce + 1n })
      return exactEvm.smartAccount(isFirst ? account : { ...account, signUserOperation: second }, { pays })
    },
    isPlain: true,
    isInSequence: true,
    target: 53_000
  },
  {
    name: "Safe 1.4.1 of exactEvm.safeAccount in USDT's shape",
    isBatched: true,
    isMade: true,
    make: async ({ rpcUrl }, owner) =>
      exactEvm.smartAccount(exactEvm.safeAccount({ owner, rpcUrl, saltNonce: 2n }), { pays }),
    isPlain: true,
    target: 90_000
  }
]

/** Two rows for each kind and size, and one for the verification, each kind on the same chain. */
export const measure: Effect.Effect<ReadonlyArray<Row>, Failure, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers })
  const plain = yield* chain.deploy(PlainToken)
  const world = { chain, plain, scheme: yield* facilitatorOn(chain, plain) }
  yield* chain.mint(chain.accounts.payee.address, 1n)
  yield* mintPlain(world, chain.accounts.payee.address)
  return (yield* Effect.forEach(kinds, (kind) => rowsOf(world, kind))).flat()
})

const mintPlain = ({ chain, plain }: Pick<World, "chain" | "plain">, to: Address) =>
  chain.send({
    to: plain,
    data: encodeFunctionData({ abi: PlainToken.abi, functionName: "mint", args: [to, balance] })
  })

/** The token of USDT's shape as an asset. */
const plainAsset = (chain: EvmTestChain.Shape, address: Address) => ({
  network: chain.network,
  address,
  symbol: "PUSD",
  decimals: 6
})

const facilitatorOn = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, plain: Address) {
  yield* SmartAccountContracts.deploy(chain)
  yield* Permit2Contracts.deploy(chain)
  const deployment = { signer: chain.accounts.deployer, rpcUrl: chain.rpcUrl }
  yield* deployPaymentGuard(deployment)
  const batches = {
    settler: yield* deployBatchSettler(deployment),
    operationSettler: yield* deployOpSettler(deployment),
    permitSettler: yield* deployPermitSettler(deployment)
  }
  const options = {
    signer: chain.accounts.signers[0],
    rpcUrl: chain.rpcUrl,
    assets: [plainAsset(chain, plain)],
    batches,
    counterfactualSettler: yield* deployCounterfactualSettler(deployment),
    userOperations: { delegations: "known" },
    permit2: true
  } as const
  return yield* Effect.provideService(exactEvm.facilitator(options), EvmCrypto.EvmCrypto, yield* BestCrypto.make)
})

const rowsOf = Effect.fnUntraced(function* (world: World, kind: Kind) {
  const { chain, scheme } = world
  const { isBatched, isMade, name, target } = kind
  const measured = isBatched ? sizes : [1]
  const rows: Array<Row> = []
  let place = 0
  let millis = 0
  for (const size of measured) {
    const owners = chain.accounts.payers.slice(place, place + size)
    place += size
    const first = yield* Effect.forEach(owners, (owner) => paymentOf(world, kind, owner, true))
    const gas = yield* settled(chain, scheme, first)
    if (isMade) rows.push(row(`gas of ${name}, its first payment, ${size} at once`, gas.each))
    // Made anew: a library's account keeps what it knows of its deployment.
    const later = yield* Effect.forEach(owners, (owner) => paymentOf(world, kind, owner, false))
    const again = yield* settled(chain, scheme, later)
    millis += again.millis
    const note = target !== undefined && size >= 25 ? { note: `target at most ${target}` } : {}
    rows.push({ ...row(`gas of ${name}, a later payment, ${size} at once`, again.each), ...note })
  }
  return [
    ...rows,
    { name: `verification of ${name}`, value: millis / place, unit: "ms CPU" }
  ] satisfies ReadonlyArray<Row>
})

const row = (name: string, value: number): Row => ({ name, value, unit: "gas" })

/** Entropy that gives all payments one nonce key. */
const oneKey = { bytes: (length: number) => new Uint8Array(length).fill(1) }

/** An account's payment; one in sequence is bound to no request, so that its nonce key is the same again. */
const paymentOf = Effect.fnUntraced(function* (
  world: World,
  kind: Kind,
  owner: EvmTestAccounts.TestAccount,
  isFirst: boolean
) {
  const { chain, scheme } = world
  const { isByPermit2 = false, isInSequence = false, isPlain = false, make } = kind
  const signer = yield* Effect.promise(() => make(chain, owner, isFirst))
  if (isFirst && isAddress(signer.address)) {
    yield* isPlain ? mintPlain(world, signer.address) : chain.mint(signer.address, balance)
  }
  if (isFirst && isByPermit2) yield* Permit2Contracts.approve(chain, owner.address)
  const client = exactEvm.client({ signer, network: chain.network, assets: [plainAsset(chain, world.plain)] })
  const requirements = {
    scheme: "exact",
    network: EvmNetwork.fromChainId(chain.chainId),
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: chain.accounts.payee.address,
    asset: isPlain ? world.plain : chain.token.address,
    extra: { ...scheme.extra, ...(isByPermit2 && { assetTransferMethod: "permit2" }) }
  }
  const asset = client.asset(requirements)
  if (asset === undefined) return yield* Effect.die(new Error("the local chain's token is not known"))
  const validBefore = Math.floor((yield* Clock.currentTimeMillis) / 1000) + 600
  const request = { requirements, asset, validAfter: 0, validBefore }
  if (isInSequence) {
    const { payload } = yield* Effect.provideService(client.sign({ ...request, binding: undefined }), Entropy, oneKey)
    return yield* scheme.read(requirements, isFirst ? payload : nextInSequence(payload))
  }
  const binding = yield* Binding.make("a-challenge-of-forty-three-characters-of-64")
  const { payload } = yield* client.sign({ ...request, binding })
  return yield* scheme.read(requirements, payload)
})

/** The payload with the next number of its nonce key, for which its account has signed. */
const nextInSequence = (payload: Schema.Json): unknown =>
  JSON.parse(
    JSON.stringify(payload, (name, value: unknown) =>
      name === "nonce" && typeof value === "string" ? `${BigInt(value) + 1n}` : value
    )
  )

/** Settles payments in as few transactions as they fit into: the gas of each, and the CPU time of all verifications. */
const settled = Effect.fnUntraced(function* (
  { receipt }: EvmTestChain.Shape,
  scheme: SchemeFacilitator,
  payments: ReadonlyArray<Payment>
) {
  const start = process.cpuUsage()
  yield* Effect.forEach(payments, (payment) => scheme.verify(payment), { concurrency: 8 })
  const { system, user } = process.cpuUsage(start)
  const [lane = ""] = scheme.lanes
  let gas = 0
  let rest = payments
  while (rest.length > 0) {
    const slot = { lane, number: yield* scheme.nextSlot(lane, "known") }
    const { count, prepared } = yield* scheme.prepare(rest, slot, yield* scheme.chainHead)
    yield* scheme.submit(prepared)
    if (!isHash(prepared.transaction)) return yield* Effect.die(new Error("the transaction has no hash"))
    const { gasUsed, status } = yield* receipt(prepared.transaction)
    if (status !== "success") return yield* Effect.die(new Error("a measured transaction reverted"))
    gas += Number(gasUsed)
    rest = rest.slice(count)
  }
  return { each: gas / payments.length, millis: (user + system) / 1000 }
})
