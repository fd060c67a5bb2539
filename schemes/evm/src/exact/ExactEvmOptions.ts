/**
 * The options of the scheme facilitator, and their check: unknown keys and values of another type are refused by name.
 */
import * as OptionCheck from "@pontage/core/OptionCheck"

import * as RouteSettings from "../bridge/RouteSettings.ts"
import * as InventorySettings from "../inventory/InventorySettings.ts"
import * as MinimumPrice from "../sending/MinimumPrice.ts"
import type * as ContractPayers from "./ContractPayers.ts"
import * as SenderOptions from "./SenderOptions.ts"

/** Settings of batches. */
export interface Batches {
  /**
   * The address of the contract `BatchSettler`, which `deployBatchSettler` makes: EIP-3009 transfers share a transaction. Its code is
   * checked at start.
   */
  readonly settler?: string
  /**
   * The address of the contract `OpSettler`, which `deployOpSettler` makes: user operations share a transaction, with transfers where
   * `settler` is given too. Its code is checked at start.
   */
  readonly operationSettler?: string
  /**
   * The address of the contract `PermitSettler`, which `deployPermitSettler` makes, the same on every chain: transfers by Permit2 share a
   * transaction, with those that `settler` and `operationSettler` settle. Its code is checked at start.
   */
  readonly permitSettler?: string
  /** The most payments of one transaction: 2 to 100, default 50. */
  readonly maximum?: number
  /**
   * The maximum cost of one transaction, in wei; default 1 ether, since nodes commonly reject a dearer one (`rpc.txfeecap` of
   * geth). It counts the most gas that the payments may use, about 160 000 each, 220 000 by Permit2, and 410 000 of a user operation.
   */
  readonly maximumCost?: bigint
  /** The longest wait of a payment for others of its batch, in milliseconds; default 50. */
  readonly windowMillis?: number
}

/**
 * Settings of user operations. The contract `PaymentGuard` (`deployPaymentGuard`) has to be on the chain: its code is checked at
 * start, and so is that of the EntryPoints.
 */
export interface UserOperations {
  /**
   * The versions of EntryPoints that are served; default 0.7 and 0.8. EntryPoint 0.9 takes calls of plain accounts alone, so each of its
   * operations has a transaction of its own.
   */
  readonly entryPoints?: ReadonlyArray<"0.7" | "0.8" | "0.9">
  /**
   * The least amount of a payment by a user operation, in the smallest unit of its token; default 0. On a dear network the gas of
   * a small payment costs more than the payment.
   */
  readonly minimumAmount?: bigint
  /**
   * Whether the delegation of a payer's plain account (EIP-7702) is sent with its operation; default `none`. `known`: to
   * Simple7702Account, and to the addresses in `knownImplementations`. Nodes keep such a transaction out of their pools while its payer
   * has several transactions of its own there, so a hostile payer can hold a lane up until its payment's validity ends.
   */
  readonly delegations?: "known" | "none"
}

/** Options of `exactEvm.facilitator`. */
export interface Options extends SenderOptions.SenderOptions, MinimumPrice.MinimumOptions {
  /** Several payments in one transaction; default one by one. */
  readonly batches?: Batches
  /** Milliseconds for which a verification waits for others that share its request; default 2, 0 for none. */
  readonly verifyWindowMillis?: number
  /**
   * The accounts with code that may pay (ERC-1271, EIP-7702); default `known`: those that run only code known to validate a
   * signature by the chain's state. `any` accepts every payment whose simulation succeeds. `none` refuses accounts with code;
   * then a signature that is not the payer's own costs no request to the RPC. `lossBudget` bounds the cost of hostile code in
   * any case.
   */
  readonly contractPayers?: ContractPayers.ContractPayers
  /** Known code beside our own table: addresses of implementations (20 bytes), or Keccak-256 hashes of code (32 bytes). */
  readonly knownImplementations?: ReadonlyArray<string>
  /**
   * The address of the contract `CounterfactualSettler`, which `deployCounterfactualSettler` makes; its code is checked at
   * start. With it accounts that are not deployed yet pay too (ERC-6492): their first payment deploys them. Default none: they
   * are refused.
   */
  readonly counterfactualSettler?: string
  /** Factories of accounts beside our own table; no other factory is ever called. */
  readonly knownFactories?: ReadonlyArray<string>
  /** Payments by user operations of smart accounts (ERC-4337); default none. */
  readonly userOperations?: UserOperations
  /**
   * Payments by Permit2 in any ERC-20 token, through the proxy of x402; default none. Both contracts have to be on the chain: they
   * are checked at start.
   */
  readonly permit2?: boolean
  /** Payments whose money goes on to another network by a bridge; default none. */
  readonly routes?: RouteSettings.Routes
  /**
   * Payments that the operator delivers on another network from its own money; default none. It is custody: between the two payments
   * the operator holds the buyer's money.
   */
  readonly inventory?: InventorySettings.Inventory
}

/** The check of {@link Options}. */
export const check = OptionCheck.options<Options>({
  ...SenderOptions.checksOf("exactEvm"),
  ...MinimumPrice.checks,
  batches: OptionCheck.optional(
    OptionCheck.options<Batches>({
      settler: OptionCheck.optional(OptionCheck.text),
      operationSettler: OptionCheck.optional(OptionCheck.text),
      permitSettler: OptionCheck.optional(OptionCheck.text),
      maximum: OptionCheck.optional(OptionCheck.whole()),
      maximumCost: OptionCheck.optional(OptionCheck.amount()),
      windowMillis: OptionCheck.optional(OptionCheck.whole())
    })
  ),
  verifyWindowMillis: OptionCheck.optional(OptionCheck.whole()),
  contractPayers: OptionCheck.optional(OptionCheck.oneOf("known", "any", "none")),
  knownImplementations: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  counterfactualSettler: OptionCheck.optional(OptionCheck.text),
  knownFactories: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  userOperations: OptionCheck.optional(
    OptionCheck.options<UserOperations>({
      entryPoints: OptionCheck.optional(OptionCheck.list(OptionCheck.oneOf("0.7", "0.8", "0.9"))),
      minimumAmount: OptionCheck.optional(OptionCheck.amount(0n)),
      delegations: OptionCheck.optional(OptionCheck.oneOf("known", "none"))
    })
  ),
  permit2: OptionCheck.optional(OptionCheck.flag),
  routes: OptionCheck.optional(RouteSettings.check),
  inventory: OptionCheck.optional(InventorySettings.check)
})
