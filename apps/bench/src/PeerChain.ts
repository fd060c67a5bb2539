/**
 * The chain on which our roles and the peers' meet: base-sepolia by its id, with our test token at the place where all of
 * them look for that network's dollar, and payers who own some.
 */
import { deployBatchSettler } from "@pontage/evm"
import { type Anvil, DollarToken, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Address, encodeFunctionData, numberToHex } from "viem"

/** Limit on concurrent buyers. */
export const payers = 64

const token: Address = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
const domain = { name: "USDC", symbol: "USDC", version: "2" } as const
/** Where the token keeps them. */
const domainSlots = [0n, 1n, 2n]
const funds = 1_000_000_000_000n

/** A chain as it is for everybody, with the contract through which our facilitator settles in batches. */
export interface PeerChain extends EvmTestChain.Shape {
  readonly settler: string
  /** The number of payments to the payee since a block. */
  readonly paidSince: (block: bigint) => Effect.Effect<number>
}

/** Why there may be none. */
export type Failure = Anvil.AnvilFailed | Effect.Error<ReturnType<typeof deployBatchSettler>>

/** Runs it as long as the scope. */
export const make: Effect.Effect<PeerChain, Failure, Scope.Scope> = Effect.gen(function* () {
  // A node that becomes slower with every payment would say more of itself than of those who are measured.
  const chain = yield* EvmTestChain.make({ chainId: 84_532, payers, ageless: true })
  yield* Effect.forkScoped(keepGoing(chain))
  yield* place(chain)
  for (const { address } of chain.accounts.payers) {
    const data = encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args: [address, funds] })
    yield* chain.send({ to: token, data })
  }
  const settler = yield* deployBatchSettler({ signer: chain.accounts.deployer, rpcUrl: chain.rpcUrl })
  const payee = chain.accounts.payee.address
  return {
    ...chain,
    token: { ...chain.token, address: token, ...domain },
    settler,
    paidSince: Effect.fnUntraced(function* (block) {
      // A node knows no logs of blocks that are still to come.
      const head = yield* Effect.promise(() => chain.client.getBlockNumber({ cacheTime: 0 }))
      if (head === block) return 0
      const transfers = yield* chain.transfers({ token, fromBlock: block + 1n })
      return transfers.filter(({ to }) => to === payee).length
    })
  } satisfies PeerChain
})

/** Opens something on a chain of its own, as long as the scope. */
export const withItsOwn = <A>(
  open: (chain: PeerChain) => Promise<A>,
  close: (opened: A) => Promise<void>
): Effect.Effect<A, Failure, Scope.Scope> =>
  Effect.flatMap(make, (chain) =>
    Effect.acquireRelease(
      Effect.promise(() => open(chain)),
      (opened) => Effect.promise(() => close(opened))
    )
  )

/** The private key of the account that pays a facilitator's gas. */
export const gasKey = ({ accounts }: PeerChain) => accounts.signers[0].privateKey

/**
 * Makes a block where none has come for a second, as one always comes on a real chain: whoever waits for a receipt with viem
 * looks for it when a block comes, and not while it still looks at the block before.
 */
const keepGoing = ({ client, mine }: EvmTestChain.Shape) => {
  const head = Effect.promise(() => client.getBlockNumber({ cacheTime: 0 }))
  return Effect.forever(
    Effect.gen(function* () {
      const before = yield* head
      yield* Effect.sleep("1 second")
      if ((yield* head) === before) yield* mine()
    })
  )
}

/** The code of a token that was deployed as usual, and the words of its EIP-712 domain, are copied over. */
const place = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const { name, symbol, version } = domain
  const template = yield* chain.deploy(DollarToken, [name, symbol, version])
  yield* Effect.promise(async () => {
    const bytecode = (await chain.client.getCode({ address: template })) ?? "0x"
    await chain.client.setCode({ address: token, bytecode })
    for (const slot of domainSlots) {
      const index = numberToHex(slot, { size: 32 })
      const value = (await chain.client.getStorageAt({ address: template, slot: index })) ?? "0x"
      await chain.client.setStorageAt({ address: token, index, value })
    }
  })
})
