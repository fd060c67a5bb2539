/**
 * Settings of `exact` on EVM networks: one network by variables of its own, or several as the entries of `PONTAGE_EVM`, and
 * the signers, tokens and limits of all of them.
 */
import { Price } from "@pontage/core"
import {
  batchSettlerAddress,
  counterfactualSettlerAddress,
  EvmAddress,
  type EvmAsset,
  opSettlerAddress,
  permitSettlerAddress
} from "@pontage/evm"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as SchemaTransformation from "effect/SchemaTransformation"

import type * as CallerTerms from "../callers/CallerTerms.ts"
import * as ChannelSettings from "./ChannelSettings.ts"
import {
  flag,
  make,
  namesSet,
  NativeAmount,
  PositiveAmount,
  type Range,
  RpcUrl,
  type Values,
  whole
} from "./EnvironmentVariable.ts"
import { ContractAddress, listed, NetworkText } from "./EvmText.ts"
import * as InventorySettings from "./InventorySettings.ts"
import * as RouteSettings from "./RouteSettings.ts"

/** Which accounts with code may pay. */
const ContractPayers = Schema.Literals(["known", "any", "none"])

const hash = /^0x[0-9a-fA-F]{64}$/

/** Address of an implementation, or the Keccak-256 hash of code. */
const KnownImplementation = Schema.String.check(
  Schema.makeFilter((text) => EvmAddress.fromText(text) !== undefined || hash.test(text))
)

/** Version of an EntryPoint. */
const EntryPointVersion = Schema.Literals(["0.7", "0.8", "0.9"])

/** Ranges of the numbers that an entry of `PONTAGE_EVM` and a variable both set. */
const ranges = {
  /** Blocks. */
  finalityDepth: { minimum: 1, maximum: 100_000 },
  /** Milliseconds. */
  verifyWindowMillis: { minimum: 0, maximum: 1_000 },
  /** Payments in a transaction. */
  batchMaximum: { minimum: 2, maximum: 100 },
  /** Milliseconds. */
  batchWindowMillis: { minimum: 0, maximum: 10_000 },
  /** Milliseconds: a day at most. */
  banMillis: { minimum: 0, maximum: 86_400_000 }
}

const within = (range: Range) => Schema.optionalKey(Schema.Int.check(Schema.isBetween(range)))

const Batches = Schema.Struct({
  settler: Schema.optionalKey(ContractAddress),
  operationSettler: Schema.optionalKey(ContractAddress),
  permitSettler: Schema.optionalKey(ContractAddress),
  maximum: within(ranges.batchMaximum),
  maximumCost: Schema.optionalKey(PositiveAmount),
  windowMillis: within(ranges.batchWindowMillis)
}).check(Schema.makeFilter((batches) => hasSettler(batches)))

/** Whether payments share transactions. */
const hasSettler = ({
  operationSettler,
  permitSettler,
  settler
}: {
  readonly [name in "operationSettler" | "permitSettler" | "settler"]?: string | undefined
}): boolean => (settler ?? operationSettler ?? permitSettler) !== undefined

/** Which delegations of plain accounts are sent. */
const Delegations = Schema.Literals(["known", "none"])

const UserOperations = Schema.Struct({
  entryPoints: Schema.optionalKey(Schema.Array(EntryPointVersion).check(Schema.isMinLength(1))),
  minimumAmount: Schema.optionalKey(PositiveAmount),
  delegations: Schema.optionalKey(Delegations)
})

/** A price in dollars, with or without the sign, which shells take for the beginning of a variable; decoded with it. */
const DollarPrice = Schema.String.check(
  Schema.makeFilter((text) => Result.isSuccess(Price.parse(withSign(text)))),
  Schema.isPattern(/[1-9]/)
).pipe(
  Schema.decodeTo(
    Schema.String,
    SchemaTransformation.transform({ decode: (text) => withSign(text), encode: (price) => price })
  )
)

const withSign = (text: string): string => (text.startsWith("$") ? text : `$${text}`)

/** Least amounts of single tokens, by the token's symbol or address, in its smallest unit. */
const MinimumAmounts = Schema.Record(Schema.String, PositiveAmount)

const Terms = Schema.Struct({
  minimumPrice: Schema.optionalKey(DollarPrice),
  minimumAmounts: Schema.optionalKey(MinimumAmounts),
  maxFeePerGas: Schema.optionalKey(NativeAmount),
  finalityDepth: within(ranges.finalityDepth),
  verifyWindowMillis: within(ranges.verifyWindowMillis),
  contractPayers: Schema.optionalKey(ContractPayers),
  knownImplementations: Schema.optionalKey(Schema.Array(KnownImplementation)),
  counterfactualSettler: Schema.optionalKey(ContractAddress),
  knownFactories: Schema.optionalKey(Schema.Array(ContractAddress)),
  lossBudget: Schema.optionalKey(PositiveAmount),
  lossBudgetPerCaller: Schema.optionalKey(PositiveAmount),
  banMillis: within(ranges.banMillis),
  batches: Schema.optionalKey(Batches),
  userOperations: Schema.optionalKey(UserOperations),
  permit2: Schema.optionalKey(Schema.Boolean)
})

/** Options of the scheme on one network that differ from its defaults. */
export type EvmTerms = typeof Terms.Type

/** One network of `PONTAGE_EVM`. */
const NetworkEntry = Schema.Struct({
  rpcUrl: RpcUrl,
  network: Schema.optionalKey(NetworkText),
  channels: Schema.optionalKey(ChannelSettings.Terms),
  routes: Schema.optionalKey(RouteSettings.Terms),
  ...Terms.fields
})

/** Token of `PONTAGE_EVM_ASSETS`. */
const Token = Schema.Struct({
  network: NetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  dollar: Schema.optionalKey(Schema.Boolean),
  name: Schema.optionalKey(Schema.NonEmptyString),
  version: Schema.optionalKey(Schema.String)
})

/** The one network that has variables of its own. */
const node = {
  rpcUrl: make("PONTAGE_EVM_RPC_URL", "the http or https address of an EVM node", "https://mainnet.base.org", RpcUrl),
  network: make(
    "PONTAGE_EVM_NETWORK",
    "eip155: and a chain id, or a name such as base-sepolia",
    "eip155:8453",
    NetworkText
  )
}

/** Its terms. */
const terms = {
  maxFeePerGas: make(
    "PONTAGE_EVM_MAX_FEE_PER_GAS_WEI",
    "the most wei that is paid for a unit of gas",
    "500000000000",
    NativeAmount
  ),
  finalityDepth: whole("PONTAGE_EVM_FINALITY_DEPTH", "blocks", ranges.finalityDepth, "64"),
  verifyWindowMillis: whole("PONTAGE_EVM_VERIFY_WINDOW_MS", "milliseconds", ranges.verifyWindowMillis, "2"),
  minimumPrice: make(
    "PONTAGE_EVM_MINIMUM_PRICE",
    "the least price of a payment by any way to pay, in dollars, above zero",
    "0.02",
    DollarPrice
  ),
  minimumAmounts: make(
    "PONTAGE_EVM_MINIMUM_AMOUNTS",
    "a JSON object of the least amounts of single tokens in place of PONTAGE_EVM_MINIMUM_PRICE, by symbol or address, each in the token's smallest unit as text, above zero",
    `'{"WETH":"10000000000000"}'`,
    Schema.fromJsonString(MinimumAmounts)
  ),
  contractPayers: make("PONTAGE_EVM_CONTRACT_PAYERS", "known, any or none", "none", ContractPayers),
  knownImplementations: make(
    "PONTAGE_EVM_KNOWN_IMPLEMENTATIONS",
    "addresses of implementations, or hashes of code, with commas between",
    "0x<address>,0x<hash>",
    listed(KnownImplementation)
  ),
  counterfactualSettler: make(
    "PONTAGE_EVM_COUNTERFACTUAL_SETTLER",
    "the address that deploy-settler prints, 0x and 40 hexadecimal digits",
    counterfactualSettlerAddress,
    ContractAddress
  ),
  knownFactories: make(
    "PONTAGE_EVM_KNOWN_FACTORIES",
    "addresses of factories of accounts, with commas between",
    "0x<address>,0x<address>",
    listed(ContractAddress)
  ),
  lossBudget: make(
    "PONTAGE_EVM_LOSS_BUDGET_WEI",
    "the wei that payments which fail on the chain may cost in 24 hours, above zero",
    "100000000000000000",
    PositiveAmount
  ),
  lossBudgetPerCaller: make(
    "PONTAGE_EVM_LOSS_BUDGET_PER_CALLER_WEI",
    "the part of the loss budget that the payers of one caller may use, in wei, above zero",
    "25000000000000000",
    PositiveAmount
  ),
  banMillis: whole("PONTAGE_EVM_BAN_MS", "milliseconds", ranges.banMillis, "3600000")
}

const batches = {
  settler: make(
    "PONTAGE_EVM_BATCH_SETTLER",
    "the address that deploy-settler prints, 0x and 40 hexadecimal digits",
    batchSettlerAddress,
    ContractAddress
  ),
  operationSettler: make(
    "PONTAGE_EVM_OPERATION_SETTLER",
    "the address that deploy-settler prints, 0x and 40 hexadecimal digits",
    opSettlerAddress,
    ContractAddress
  ),
  permitSettler: make(
    "PONTAGE_EVM_PERMIT_SETTLER",
    "the address that deploy-settler prints, 0x and 40 hexadecimal digits",
    permitSettlerAddress,
    ContractAddress
  ),
  maximum: whole("PONTAGE_EVM_BATCH_MAXIMUM", "payments", ranges.batchMaximum, "50"),
  maximumCost: make(
    "PONTAGE_EVM_BATCH_MAXIMUM_COST_WEI",
    "the most wei that a transaction of several payments may cost, above zero",
    "1000000000000000000",
    PositiveAmount
  ),
  windowMillis: whole("PONTAGE_EVM_BATCH_WINDOW_MS", "milliseconds", ranges.batchWindowMillis, "50")
}

const operations = {
  entryPoints: make(
    "PONTAGE_EVM_USER_OPERATIONS",
    "the EntryPoints whose user operations are settled: 0.7, 0.8 and 0.9, with commas between",
    "0.7,0.8",
    listed(EntryPointVersion)
  ),
  minimumAmount: make(
    "PONTAGE_EVM_USER_OPERATION_MINIMUM",
    "the least amount of a payment by a user operation, in the smallest unit of its token, above zero",
    "50000",
    PositiveAmount
  ),
  delegations: make("PONTAGE_EVM_DELEGATIONS", "known or none", "known", Delegations),
  permit2: flag("PONTAGE_EVM_PERMIT2", "true")
}

/** Settings of all networks. */
const shared = {
  entries: make(
    "PONTAGE_EVM",
    "a JSON list of networks with rpcUrl and, optionally, network, maxFeePerGas, minimumPrice, minimumAmounts, finalityDepth, verifyWindowMillis, contractPayers, knownImplementations, counterfactualSettler, knownFactories, lossBudget, lossBudgetPerCaller, banMillis, batches, userOperations, permit2, channels and routes",
    `'[{"network":"eip155:8453","rpcUrl":"https://mainnet.base.org"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(NetworkEntry))
  ),
  signerKey: make(
    "PONTAGE_EVM_SIGNER_KEY",
    "the private key that pays for gas, 0x and 64 hexadecimal digits, or several separated by commas",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}(,0x[0-9a-fA-F]{64})*$/))
  ),
  assets: make(
    "PONTAGE_EVM_ASSETS",
    "a JSON list of tokens to settle beyond the known ones, each with network, address, symbol and decimals, the name and version of its authorizations if it has them, and dollar: false if it is none",
    `'[{"network":"eip155:8453","address":"0x<address>","symbol":"EURC","decimals":6,"name":"EURC","version":"2"}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(Token))
  ),
  minimumGas: make(
    "PONTAGE_EVM_MIN_GAS_WEI",
    "the wei that each signer must hold for the service to be ready",
    "1000000000000000",
    NativeAmount
  ),
  gasCeiling: make(
    "PONTAGE_EVM_GAS_CEILING_WEI",
    "the wei that settling may cost on each network in 24 hours",
    "100000000000000000",
    NativeAmount
  )
}

/** All variables of EVM networks. */
export const tables = {
  evmNode: node,
  evmTerms: terms,
  evmBatches: batches,
  evmOperations: operations,
  ...ChannelSettings.tables,
  ...RouteSettings.tables,
  ...InventorySettings.tables,
  evm: shared
}

/** Values of these variables. */
export interface EvmValues
  extends ChannelSettings.ChannelValues, RouteSettings.RouteValues, InventorySettings.InventoryValues {
  readonly evmNode: Values<typeof node>
  readonly evmTerms: Values<typeof terms>
  readonly evmBatches: Values<typeof batches>
  readonly evmOperations: Values<typeof operations>
  readonly evm: Values<typeof shared>
}

/** An EVM network to settle on. The URL is redacted because it may hold a provider's key. */
export interface EvmNetworkSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly network: string | undefined
  readonly terms?: EvmTerms
  /** Absent where no payment channels are served on the network. */
  readonly channels?: ChannelSettings.ChannelTerms
  /** Absent where no payments go on to another network. */
  readonly routes?: RouteSettings.RouteTerms
}

/** All EVM networks, and the settings they share. */
export interface EvmSettings {
  readonly evm: ReadonlyArray<EvmNetworkSettings>
  readonly evmSignerKeys: ReadonlyArray<Redacted.Redacted>
  readonly evmAssets: ReadonlyArray<EvmAsset.CustomAsset>
  /** Absent where no payment channels are served. */
  readonly evmChannels?: ChannelSettings.ChannelKeys
  /** Absent where no payments go on to another network. */
  readonly evmRoutes?: RouteSettings.SharedTerms
  /** Absent where the operator delivers nothing from its own money. */
  readonly inventory?: InventorySettings.InventoryTerms
  /** Least balance of each signer for the service to be ready, in wei. */
  readonly evmMinimumGas: bigint
  /** Most that settling may cost on each network in 24 hours, in wei. */
  readonly evmGasCeiling: bigint | undefined
}

/** Settings of these values. */
export const fromValues = (values: EvmValues): EvmSettings => {
  const { assets = [], gasCeiling, minimumGas = 1n, signerKey } = values.evm
  const channels = ChannelSettings.keysOf(values)
  const routes = RouteSettings.sharedOf(values)
  const inventory = InventorySettings.fromValues(values)
  return {
    evm: networksOf(values),
    evmSignerKeys: (signerKey?.split(",") ?? []).map((key) => Redacted.make(key)),
    evmAssets: assets,
    ...(channels && { evmChannels: channels }),
    ...(routes && { evmRoutes: routes }),
    ...(inventory && { inventory }),
    evmMinimumGas: minimumGas,
    evmGasCeiling: gasCeiling
  }
}

const networksOf = (values: EvmValues): ReadonlyArray<EvmNetworkSettings> => {
  const { evm, evmBatches, evmNode, evmOperations, evmTerms } = values
  if (evm.entries !== undefined) {
    return evm.entries.map(networkOf)
  }
  const { network, rpcUrl } = evmNode
  if (rpcUrl === undefined) return []
  const hasBatches = hasSettler(evmBatches)
  const { permit2, ...userOperations } = evmOperations
  const terms = {
    ...evmTerms,
    ...(hasBatches && { batches: evmBatches }),
    ...(userOperations.entryPoints !== undefined && { userOperations }),
    ...(permit2 === "true" && { permit2: true })
  }
  const channels = ChannelSettings.termsOf(values)
  const routes = RouteSettings.termsOf(values)
  return [{ network, rpcUrl: Redacted.make(rpcUrl), terms, ...(channels && { channels }), ...(routes && { routes }) }]
}

const networkOf = ({ channels, network, routes, rpcUrl, ...terms }: typeof NetworkEntry.Type): EvmNetworkSettings => ({
  network,
  rpcUrl: Redacted.make(rpcUrl),
  terms,
  ...(channels && { channels }),
  ...(routes && { routes: RouteSettings.hiding(routes) })
})

/** Contradictions between the variables of EVM networks. */
export const contradictions = (
  values: EvmValues,
  callers: ReadonlyArray<CallerTerms.CallerTerms>,
  others: Pick<InventorySettings.Beside, "ton" | "tonKeys" | "tron">
): ReadonlyArray<string> => {
  const { evm, evmBatches, evmNode, evmOperations, evmTerms } = values
  const mistakes = hasSettler(evmBatches)
    ? []
    : namesSet(batches, evmBatches).map(
        (name) =>
          `${name}: each payment has its own transaction without PONTAGE_EVM_BATCH_SETTLER, PONTAGE_EVM_OPERATION_SETTLER or PONTAGE_EVM_PERMIT_SETTLER; set one of them too`
      )
  if (evmOperations.entryPoints === undefined) {
    const { permit2: _, ...ofOperations } = evmOperations
    const mistaken = namesSet(operations, ofOperations)
    mistakes.push(
      ...mistaken.map(
        (name) => `${name}: no user operations are settled without PONTAGE_EVM_USER_OPERATIONS; set that too`
      )
    )
  }
  if (evmBatches.operationSettler !== undefined && evmOperations.entryPoints === undefined) {
    mistakes.push(
      "PONTAGE_EVM_OPERATION_SETTLER: no user operations are settled without PONTAGE_EVM_USER_OPERATIONS; set that too"
    )
  }
  if (evmBatches.permitSettler !== undefined && evmOperations.permit2 !== "true") {
    mistakes.push(
      "PONTAGE_EVM_PERMIT_SETTLER: no payments by Permit2 are settled without PONTAGE_EVM_PERMIT2=true; set that too"
    )
  }
  if ((evm.entries !== undefined || evmNode.rpcUrl !== undefined) && evm.signerKey === undefined) {
    mistakes.push("PONTAGE_EVM_SIGNER_KEY: no signer; set it to the private key of the account that pays for gas")
  }
  const also = [
    ...namesSet(node, evmNode),
    ...namesSet(terms, evmTerms),
    ...namesSet(batches, evmBatches),
    ...namesSet(operations, evmOperations),
    ...ChannelSettings.namesOfTerms(values),
    ...RouteSettings.namesOfTerms(values)
  ]
  if (evm.entries !== undefined && also.length > 0) {
    mistakes.push(`PONTAGE_EVM: also ${also.join(", ")} is set; move it into the entry of the network`)
  }
  mistakes.push(
    ...ChannelSettings.contradictions(values, {
      signerKey: evm.signerKey,
      entries: evm.entries?.flatMap(({ channels }) => channels ?? []),
      callers
    }),
    ...RouteSettings.contradictions(values, {
      signerKeys: [evm.signerKey, values.evmChannels.signerKey, values.evmChannels.authorizerKey],
      entries: evm.entries?.flatMap(({ routes }) => routes ?? [])
    }),
    ...InventorySettings.contradictions(values, {
      networks: evm.entries?.map(({ network }) => network) ?? [],
      ...others,
      signerKeys: [
        evm.signerKey,
        values.evmChannels.signerKey,
        values.evmChannels.authorizerKey,
        values.evmRoutes.signerKey
      ]
    })
  )
  return mistakes
}
