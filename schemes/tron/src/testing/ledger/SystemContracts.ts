/**
 * TRON's built-in contracts: TRX transfers, account creation, staking, delegation, permissions. Each gives its cost in sun beside
 * bandwidth, or fails if it is invalid.
 */
import * as Effect from "effect/Effect"

import type { ContractOf, Permission, Resource, TronContract } from "../messages/TronContract.ts"
import * as NodeAddress from "../node/NodeAddress.ts"
import * as NodeRefusal from "../node/NodeRefusal.ts"
import { sunPerTrx } from "./ChainParameters.ts"
import * as TronAccount from "./TronAccount.ts"
import { delegationKey, type TronLedger } from "./TronLedger.ts"

/** The contracts of this file. */
export type SystemContract = Exclude<
  TronContract,
  ContractOf<"TriggerSmartContract"> | ContractOf<"CreateSmartContract">
>

const unfreezeMillis = 14 * 86_400_000

/** Executes a built-in contract. */
export const execute = (
  ledger: TronLedger,
  contract: SystemContract,
  owner: TronAccount.TronAccount,
  now: number
): Effect.Effect<bigint, NodeRefusal.NodeRefusal> => {
  switch (contract._tag) {
    case "TransferContract":
      return transfer(ledger, contract, owner, now)
    case "AccountCreateContract":
      return createAccount(ledger, contract, owner, now)
    case "AccountPermissionUpdateContract":
      return updatePermissions(ledger, contract, owner)
    case "FreezeBalanceV2Contract":
      return freeze(ledger, contract, owner)
    case "UnfreezeBalanceV2Contract":
      return unfreeze(ledger, contract, owner, now)
    case "DelegateResourceContract":
      return delegate(ledger, contract, owner, now)
    case "UnDelegateResourceContract":
      return undelegate(ledger, contract, owner, now)
  }
}

const pay = (ledger: TronLedger, owner: TronAccount.TronAccount, sun: bigint) =>
  ledger.accounts.set(owner.address, { ...owner, balance: owner.balance - sun })

const transfer = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { amount, to_address: to }: ContractOf<"TransferContract">,
  owner: TronAccount.TronAccount,
  now: number
) {
  if (!NodeAddress.is(to)) return yield* NodeRefusal.invalid("Invalid toAddress!")
  if (to === owner.address) return yield* NodeRefusal.invalid("Cannot transfer TRX to yourself.")
  if (amount <= 0n) return yield* NodeRefusal.invalid("Amount must be greater than 0.")
  const receiver = ledger.accounts.get(to)
  if (receiver?.isContract === true) return yield* NodeRefusal.invalid("Cannot transfer TRX to a smartContract.")
  const fee = receiver === undefined ? ledger.parameters.createNewAccountFee : 0n
  if (owner.balance < amount + fee) {
    return yield* NodeRefusal.invalid("Validate TransferContract error, balance is not sufficient.")
  }
  pay(ledger, owner, amount + fee)
  ledger.add(to, amount, now)
  return fee
})

const createAccount = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { account_address: address }: ContractOf<"AccountCreateContract">,
  owner: TronAccount.TronAccount,
  now: number
) {
  const fee = ledger.parameters.createNewAccountFee
  if (!NodeAddress.is(address)) return yield* NodeRefusal.invalid("Invalid account address")
  if (ledger.accounts.get(address) !== undefined) return yield* NodeRefusal.invalid("Account has existed")
  if (owner.balance < fee) return yield* NodeRefusal.invalid("Validate CreateAccountActuator error, insufficient fee.")
  pay(ledger, owner, fee)
  ledger.accounts.set(address, TronAccount.make(address, now, false))
  return fee
})

const firstActive = 2
const mostKeys = 5

const problemOf = (permission: Permission): string | undefined => {
  const { keys, threshold } = permission
  const addresses = keys.map(({ address }) => address)
  if (keys.length === 0) return "key's count should be greater than 0"
  if (keys.length > mostKeys) return `number of keys in permission should not be greater than ${mostKeys}`
  if (threshold <= 0n) return "permission's threshold should be greater than 0"
  if (new Set(addresses).size !== addresses.length) return "address should be distinct in permission"
  if (!addresses.every(NodeAddress.is)) return "key is not a validate address"
  if (keys.some(({ weight }) => weight <= 0n)) return "key's weight should be greater than 0"
  const total = keys.reduce((sum, { weight }) => sum + weight, 0n)
  return total < threshold ? "sum of all key's weight should not be less than threshold in permission" : undefined
}

const updatePermissions = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { actives, owner: owners }: ContractOf<"AccountPermissionUpdateContract">,
  owner: TronAccount.TronAccount
) {
  const fee = ledger.parameters.updateAccountPermissionFee
  if (owners === undefined) return yield* NodeRefusal.invalid("owner permission is missed")
  if (actives.length === 0) return yield* NodeRefusal.invalid("active permission is missed")
  const problem = [owners, ...actives].map(problemOf).find((each) => each !== undefined)
  if (problem !== undefined) return yield* NodeRefusal.invalid(problem)
  if (owner.balance < fee) return yield* NodeRefusal.insufficient()
  const permissions = new Map<number, Permission>([
    [0, { ...owners, type: "Owner", id: 0n }],
    ...actives.map((each, index) => {
      const id = firstActive + index
      return [id, { ...each, type: "Active", id: BigInt(id) }] as const
    })
  ])
  ledger.accounts.set(owner.address, { ...owner, balance: owner.balance - fee, permissions })
  return fee
})

const freeze = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { frozen_balance: amount, resource }: ContractOf<"FreezeBalanceV2Contract">,
  owner: TronAccount.TronAccount
) {
  if (amount < sunPerTrx) {
    return yield* NodeRefusal.invalid("frozenBalance must be greater than or equal to 1 TRX")
  }
  if (owner.balance < amount) {
    return yield* NodeRefusal.invalid("frozenBalance must be less than or equal to accountBalance")
  }
  const { own } = owner.stakes[resource]
  const staked = TronAccount.withStake(owner, resource, { own: own + amount })
  ledger.accounts.set(owner.address, { ...staked, balance: owner.balance - amount })
  return 0n
})

const unfreeze = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { resource, unfreeze_balance: amount }: ContractOf<"UnfreezeBalanceV2Contract">,
  owner: TronAccount.TronAccount,
  now: number
) {
  const { own } = owner.stakes[resource]
  if (amount <= 0n || amount > own) {
    return yield* NodeRefusal.invalid(`Invalid unfreeze_balance, [${amount}] is error`)
  }
  const staked = TronAccount.withStake(owner, resource, { own: own - amount })
  const unfreezing = [...owner.unfreezing, { resource, amount, at: now + unfreezeMillis }]
  ledger.accounts.set(owner.address, { ...staked, unfreezing })
  return 0n
})

const delegate = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { balance, lock, receiver_address: to, resource }: ContractOf<"DelegateResourceContract">,
  owner: TronAccount.TronAccount,
  now: number
) {
  const receiver = ledger.accounts.get(to)
  const { delegated, own } = owner.stakes[resource]
  if (lock) return yield* NodeRefusal.invalid("the local node does not support locked delegation")
  if (balance < sunPerTrx) {
    return yield* NodeRefusal.invalid("delegateBalance must be greater than or equal to 1 TRX")
  }
  if (availableOf(ledger, owner, resource, now) < balance) {
    const kind = resource === "ENERGY" ? "Energy" : "BandwidthV2"
    const available = `available Freeze${kind}V2 balance`
    return yield* NodeRefusal.invalid(`delegateBalance must be less than or equal to ${available}`)
  }
  if (to === owner.address) return yield* NodeRefusal.invalid("receiverAddress must not be the same as ownerAddress")
  if (receiver === undefined) {
    return yield* NodeRefusal.invalid(`Account[${NodeAddress.toBase58(to)}] not exists`)
  }
  if (receiver.isContract) return yield* NodeRefusal.invalid("Do not allow delegate resources to contract addresses")
  const key = delegationKey(owner.address, to, resource)
  const change = { own: own - balance, delegated: delegated + balance }
  ledger.accounts.set(owner.address, TronAccount.withStake(owner, resource, change))
  const acquired = receiver.stakes[resource].acquired + balance
  ledger.accounts.set(to, TronAccount.withStake(receiver, resource, { acquired }))
  ledger.delegations.set(key, (ledger.delegations.get(key) ?? 0n) + balance)
  return 0n
})

/** Stake that an account may delegate: the part it has used recently stays with it. */
export const availableOf = (
  ledger: TronLedger,
  account: TronAccount.TronAccount,
  resource: Resource,
  now: number
): bigint => {
  const { parameters } = ledger
  const { acquired, own, usage } = account.stakes[resource]
  const [weight, limit] =
    resource === "ENERGY"
      ? [parameters.totalEnergyWeight, parameters.totalEnergyLimit]
      : [parameters.totalNetWeight, parameters.totalNetLimit]
  const used = (TronAccount.usedAt(usage, now) * weight * sunPerTrx) / limit
  const bound = used > acquired ? used - acquired : 0n
  return own > bound ? own - bound : 0n
}

const undelegate = Effect.fnUntraced(function* (
  ledger: TronLedger,
  { balance, receiver_address: to, resource }: ContractOf<"UnDelegateResourceContract">,
  owner: TronAccount.TronAccount,
  now: number
) {
  const key = delegationKey(owner.address, to, resource)
  const delegated = ledger.delegations.get(key) ?? 0n
  if (delegated === 0n) return yield* NodeRefusal.invalid("delegated Resource does not exist")
  if (balance <= 0n) return yield* NodeRefusal.invalid("unDelegateBalance must be more than 0 TRX")
  if (balance > delegated) {
    return yield* NodeRefusal.invalid(`insufficient delegatedFrozenBalance(${resource}), request=${balance}`)
  }
  const receiver = ledger.accounts.get(to)
  const moved = receiver === undefined ? 0n : usageOf(ledger, receiver, resource, balance, now)
  if (receiver !== undefined) {
    const { acquired, usage } = receiver.stakes[resource]
    const left = { used: TronAccount.usedAt(usage, now) - moved, at: now }
    ledger.accounts.set(to, TronAccount.withStake(receiver, resource, { acquired: acquired - balance, usage: left }))
  }
  const stake = owner.stakes[resource]
  const back = {
    own: stake.own + balance,
    delegated: stake.delegated - balance,
    usage: TronAccount.using(stake.usage, moved, now)
  }
  ledger.accounts.set(owner.address, TronAccount.withStake(owner, resource, back))
  ledger.delegations.set(key, delegated - balance)
  return 0n
})

/** Usage that returns to the owner with the stake: the receiver's, in proportion to the stake, at most what the stake gives. */
const usageOf = (
  { parameters }: TronLedger,
  receiver: TronAccount.TronAccount,
  resource: Resource,
  balance: bigint,
  now: number
): bigint => {
  const { acquired, own, usage } = receiver.stakes[resource]
  const used = TronAccount.usedAt(usage, now)
  const share = (used * balance) / (own + acquired)
  const worth = TronAccount.limitOf(
    TronAccount.withStake(receiver, resource, { own: 0n, acquired: balance }),
    resource,
    parameters
  )
  return share < worth ? share : worth
}
