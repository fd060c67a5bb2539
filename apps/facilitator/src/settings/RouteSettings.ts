/**
 * Settings of payments that go on to another network: the other networks and the prices of coins, for a network of the settings; the
 * bridges and the key that delivers, for all of them.
 */
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

import { make, NativeAmount, namesSet, PositiveAmount, RpcUrl, type Values, whole } from "./EnvironmentVariable.ts"
import { ContractAddress, NetworkText } from "./EvmText.ts"

/** Ranges of the numbers that an entry of `PONTAGE_EVM` and a variable both set. */
const ranges = {
  /** Blocks. */
  finalityDepth: { minimum: 1, maximum: 100_000 },
  /** Seconds: a day at most. */
  pushAfterSeconds: { minimum: 0, maximum: 86_400 },
  /** Ids of LayerZero's endpoints, and domains of CCTP. */
  endpointId: { minimum: 0, maximum: 2 ** 32 - 1 },
  /** Seconds: a week at most. */
  feedMaximumAgeSeconds: { minimum: 1, maximum: 604_800 },
  /** Percent. */
  feedMaximumJumpPercent: { minimum: 1, maximum: 1_000 }
}

/** A coin's price, or the address of its price feed on the coin's own network. */
const CoinPrice = Schema.Union([ContractAddress, PositiveAmount])

/** Another network. Its name is needed: two entries that name one network share its signer. */
const FarNetwork = Schema.Struct({
  network: NetworkText,
  rpcUrl: RpcUrl,
  coinPrice: CoinPrice,
  finalityDepth: Schema.optionalKey(Schema.Int.check(Schema.isBetween(ranges.finalityDepth))),
  maxFeePerGas: Schema.optionalKey(NativeAmount)
})

const FarNetworks = Schema.NonEmptyArray(FarNetwork)

/** The field `routes` of an entry of `PONTAGE_EVM`. */
export const Terms = Schema.Struct({
  to: FarNetworks,
  coinPrice: CoinPrice,
  feedMaximumAgeSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween(ranges.feedMaximumAgeSeconds))),
  feedMaximumJumpPercent: Schema.optionalKey(Schema.Int.check(Schema.isBetween(ranges.feedMaximumJumpPercent))),
  minimumAmount: Schema.optionalKey(PositiveAmount),
  feeTo: Schema.optionalKey(ContractAddress),
  pushAfterSeconds: Schema.optionalKey(Schema.Int.check(Schema.isBetween(ranges.pushAfterSeconds)))
})

type ReadTerms = typeof Terms.Type

/** Another network. The URL is redacted because it may hold a provider's key. */
export interface FarTerms extends Omit<typeof FarNetwork.Type, "rpcUrl"> {
  readonly rpcUrl: Redacted.Redacted
}

/** The terms of routes from one network. */
export interface RouteTerms extends Omit<ReadTerms, "to"> {
  readonly to: ReadonlyArray<FarTerms>
}

/** Terms whose addresses of nodes are hidden. */
export const hiding = ({ to, ...terms }: ReadTerms): RouteTerms => ({
  ...terms,
  to: to.map((far) => ({ ...far, rpcUrl: Redacted.make(far.rpcUrl) }))
})

/** The terms of the one network that has variables of its own. */
const terms = {
  to: make(
    "PONTAGE_EVM_ROUTES_TO",
    "a JSON list of the networks that payments may go on to, each with network, rpcUrl and coinPrice (of one whole coin, in millionths of a dollar, as text, or the address of its price feed there) and, optionally, finalityDepth and maxFeePerGas",
    `'[{"network":"polygon","rpcUrl":"https://polygon.example","coinPrice":"300000"}]'`,
    Schema.fromJsonString(FarNetworks)
  ),
  coinPrice: make(
    "PONTAGE_EVM_ROUTES_COIN_PRICE",
    "the price of one whole coin of the network of PONTAGE_EVM_RPC_URL, in millionths of a dollar, above zero, or the address of its price feed on that network",
    "3000000000",
    CoinPrice
  ),
  feedMaximumAgeSeconds: whole(
    "PONTAGE_EVM_ROUTES_FEED_MAX_AGE_SECONDS",
    "seconds",
    ranges.feedMaximumAgeSeconds,
    "90000"
  ),
  feedMaximumJumpPercent: whole(
    "PONTAGE_EVM_ROUTES_FEED_MAX_JUMP_PERCENT",
    "percent",
    ranges.feedMaximumJumpPercent,
    "20"
  ),
  minimumAmount: make(
    "PONTAGE_EVM_ROUTES_MINIMUM",
    "the least price that is sent over a bridge, in the smallest unit of its token, above zero",
    "5000000",
    PositiveAmount
  ),
  feeTo: make(
    "PONTAGE_EVM_ROUTES_FEE_TO",
    "the address that gets the fees, 0x and 40 hexadecimal digits",
    "0x<address>",
    ContractAddress
  ),
  pushAfterSeconds: whole("PONTAGE_EVM_ROUTES_PUSH_AFTER_SECONDS", "seconds", ranges.pushAfterSeconds, "120")
}

/** A bridge's contract on one chain. */
const Bridge = Schema.Struct({
  kind: Schema.optionalKey(Schema.Literals(["oft", "cctp"])),
  network: NetworkText,
  asset: ContractAddress,
  bridge: ContractAddress,
  endpointId: Schema.Int.check(Schema.isBetween(ranges.endpointId))
})

/** Settings of all networks. */
const shared = {
  signerKey: make(
    "PONTAGE_EVM_DELIVERY_SIGNER_KEY",
    "the private key that pays for the gas of deliveries on the other networks, 0x and 64 hexadecimal digits, or several separated by commas",
    "0x<64 hexadecimal digits>",
    Schema.String.check(Schema.isPattern(/^0x[0-9a-fA-F]{64}(,0x[0-9a-fA-F]{64})*$/))
  ),
  bridges: make(
    "PONTAGE_EVM_BRIDGES",
    "a JSON list of bridges beyond the known ones, one for each end, each with network, asset (the token), bridge (the OFT of LayerZero, or CCTP's messenger), endpointId (or CCTP's domain) and, for CCTP, kind cctp",
    `'[{"network":"polygon","asset":"0x<address>","bridge":"0x<address>","endpointId":30109}]'`,
    Schema.fromJsonString(Schema.NonEmptyArray(Bridge))
  ),
  attesterUrl: make(
    "PONTAGE_EVM_CCTP_ATTESTER_URL",
    "the http or https address of CCTP's attester; payments go over CCTP too with it",
    "https://iris-api.circle.com",
    RpcUrl
  ),
  finality: make(
    "PONTAGE_EVM_CCTP_FINALITY",
    "fast (attested within seconds, for a fee of the issuer) or standard (once the block is final)",
    "fast",
    Schema.Literals(["fast", "standard"])
  )
}

/** The variables. */
export const tables = { evmRouteTerms: terms, evmRoutes: shared }

/** Values of these variables. */
export interface RouteValues {
  readonly evmRouteTerms: Values<typeof terms>
  readonly evmRoutes: Values<typeof shared>
}

/** The settings of all networks with routes. */
export interface SharedTerms {
  /** The signers that deliver on the other networks. */
  readonly signers: ReadonlyArray<Redacted.Redacted>
  /** Bridges beside the known ones. */
  readonly bridges: ReadonlyArray<typeof Bridge.Type>
  /** Payments over CCTP, where they are served. */
  readonly cctp?: { readonly attesterUrl: string; readonly finality?: "fast" | "standard" }
}

/** The settings of all networks; `undefined` where no payments go on to another one. */
export const sharedOf = ({
  evmRoutes: { attesterUrl, bridges, finality, signerKey }
}: RouteValues): SharedTerms | undefined =>
  signerKey === undefined
    ? undefined
    : {
        signers: signerKey.split(",").map((key) => Redacted.make(key)),
        bridges: bridges ?? [],
        ...(attesterUrl !== undefined && { cctp: { attesterUrl, ...(finality !== undefined && { finality }) } })
      }

/** The terms of the one network; `undefined` where no payments go on from it. */
export const termsOf = ({ evmRouteTerms: { coinPrice, to, ...more } }: RouteValues): RouteTerms | undefined =>
  to === undefined || coinPrice === undefined ? undefined : hiding({ to, coinPrice, ...more })

/** The names of the set variables that an entry of `PONTAGE_EVM` replaces. */
export const namesOfTerms = ({ evmRouteTerms }: RouteValues): ReadonlyArray<string> => namesSet(terms, evmRouteTerms)

/** The other settings that contradict these. */
export interface Beside {
  /** The variables of keys that other schemes sign with. */
  readonly signerKeys: ReadonlyArray<string | undefined>
  /** The field `routes` of all entries of `PONTAGE_EVM`; `undefined` without entries. */
  readonly entries: ReadonlyArray<ReadTerms> | undefined
}

/** Contradictions between these variables, and to others. */
export const contradictions = (values: RouteValues, { entries, signerKeys }: Beside): ReadonlyArray<string> => {
  const { coinPrice, to } = values.evmRouteTerms
  const mistakes: Array<string> = []
  if (entries === undefined && to === undefined) {
    mistakes.push(
      ...namesOfTerms(values).map(
        (name) => `${name}: no payments go on to another network without PONTAGE_EVM_ROUTES_TO; set that too`
      )
    )
  }
  if (entries === undefined && to !== undefined && coinPrice === undefined) {
    mistakes.push(
      "PONTAGE_EVM_ROUTES_TO: fees need the price of this network's coin; set PONTAGE_EVM_ROUTES_COIN_PRICE too"
    )
  }
  if (values.evmRoutes.finality !== undefined && values.evmRoutes.attesterUrl === undefined) {
    mistakes.push(
      "PONTAGE_EVM_CCTP_FINALITY: no payments go over CCTP without PONTAGE_EVM_CCTP_ATTESTER_URL; set that too"
    )
  }
  const far = entries === undefined ? (to ?? []) : entries.flatMap((one) => one.to)
  return [...mistakes, ...(far.length === 0 ? idle(values) : [...clashes(far), ...keyMistakes(values, signerKeys)])]
}

const idle = ({ evmRoutes }: RouteValues): ReadonlyArray<string> =>
  namesSet(shared, evmRoutes).map(
    (name) =>
      `${name}: no payments go on to another network; set PONTAGE_EVM_ROUTES_TO, or the field routes in an entry of PONTAGE_EVM`
  )

/** One network has one signer of deliveries, which numbers its transactions by one node. */
const clashes = (far: ReadonlyArray<typeof FarNetwork.Type>): ReadonlyArray<string> => {
  const differing = far.filter(({ network, rpcUrl }) =>
    far.some((other) => other.network === network && other.rpcUrl !== rpcUrl)
  )
  return [...new Set(differing.map(({ network }) => network))].map(
    (network) => `PONTAGE_EVM: routes to ${network} name several nodes; give all of them the same rpcUrl`
  )
}

const keyMistakes = (
  { evmRoutes: { signerKey } }: RouteValues,
  signerKeys: ReadonlyArray<string | undefined>
): ReadonlyArray<string> => {
  if (signerKey === undefined) {
    return [
      "PONTAGE_EVM_DELIVERY_SIGNER_KEY: no signer delivers what a bridge's executor leaves; set it to the private key of an account of its own with coin on the other networks"
    ]
  }
  const others = new Set(signerKeys.flatMap(keysIn))
  return keysIn(signerKey).some((key) => others.has(key))
    ? [
        "PONTAGE_EVM_DELIVERY_SIGNER_KEY: one of the keys is set for something else too; each scheme numbers the transactions of its own signers"
      ]
    : []
}

const keysIn = (text: string | undefined): ReadonlyArray<string> => text?.toLowerCase().split(",") ?? []
