/**
 * What an operator may set of `exact` on TON: the node, the relayers that bring payments to their wallets, and what may be
 * spent and lost on the way.
 */
import { ExactTon, Ed25519, TonNetwork, type TonSigner } from "@pontage/ton"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"

/** A TON network by any of its names. */
export const TonNetworkText = Schema.String.check(Schema.makeFilter((text) => TonNetwork.fromText(text) !== undefined))

const seed = /^[0-9a-fA-F]{64}(,[0-9a-fA-F]{64})*$/

/** Seeds of Ed25519 keys, 32 bytes in hexadecimal, with commas between. */
export const Seeds = Schema.String.check(Schema.isPattern(seed))

/** The ways payments may be signed, with commas between. */
export const Kinds = Schema.Literals(["w5-internal", "external", "w5-internal,external", "external,w5-internal"])

/** A Jetton of `PONTAGE_TON_ASSETS`. */
export const TonAssetEntry = Schema.Struct({
  network: TonNetworkText,
  address: Schema.String,
  symbol: Schema.NonEmptyString,
  decimals: Schema.Int,
  dollar: Schema.optionalKey(Schema.Boolean)
})

/** What each number may be. */
export const bounds = {
  subwallet: { minimum: 0, maximum: 32_767 },
  /** Payments in an external message. */
  batchMaximum: { minimum: 1, maximum: 255 },
  /** Milliseconds. */
  batchWindowMillis: { minimum: 0, maximum: 10_000 }
} as const

/** The variables that say the settings; `undefined` where one is not set. */
export interface TonSettingVariables {
  readonly PONTAGE_TON_RPC_URL: string | undefined
  readonly PONTAGE_TON_API_KEY: string | undefined
  readonly PONTAGE_TON_NETWORK: string | undefined
  readonly PONTAGE_TON_SIGNER_KEY: string | undefined
  readonly PONTAGE_TON_SUBWALLET: number | undefined
  readonly PONTAGE_TON_ASSETS: ReadonlyArray<typeof TonAssetEntry.Type> | undefined
  readonly PONTAGE_TON_KINDS: typeof Kinds.Type | undefined
  readonly PONTAGE_TON_ATTACHED_NANOTON: bigint | undefined
  readonly PONTAGE_TON_LOSS_BUDGET_NANOTON: bigint | undefined
  readonly PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON: bigint | undefined
  readonly PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON: bigint | undefined
  readonly PONTAGE_TON_EXTERNAL_MINIMUM: bigint | undefined
  readonly PONTAGE_TON_BATCH_MAXIMUM: number | undefined
  readonly PONTAGE_TON_BATCH_WINDOW_MS: number | undefined
  readonly PONTAGE_TON_EMULATION: "true" | "false" | undefined
  readonly PONTAGE_TON_MIN_GAS_NANOTON: bigint | undefined
  readonly PONTAGE_TON_GAS_CEILING_NANOTON: bigint | undefined
}

/** What is set apart from the defaults of the scheme. */
export interface TonTerms {
  readonly network?: string
  readonly subwallet?: number
  readonly assets?: ReadonlyArray<typeof TonAssetEntry.Type>
  readonly kinds?: ReadonlyArray<ExactTon.Kind>
  /** Nanotons. */
  readonly attachedTon?: bigint
  /** Nanotons in 24 hours: in all, for the payers of one caller, for one payer. */
  readonly lossBudget?: bigint
  readonly lossBudgetPerCaller?: bigint
  readonly lossBudgetPerPayer?: bigint
  /** In a Jetton's smallest unit. */
  readonly externalMinimum?: bigint
  readonly batches: { readonly maximum?: number; readonly windowMillis?: number }
}

/** TON, where the service settles on it. The address may hold a provider's key, hence it is redacted too. */
export interface TonSettings {
  readonly rpcUrl: Redacted.Redacted
  readonly apiKey: Redacted.Redacted | undefined
  /** Seeds, in hexadecimal; at least one. */
  readonly signerKeys: ReadonlyArray<Redacted.Redacted>
  readonly terms: TonTerms
  /** Whether payments are played through first: required, never, or where the machine for it is installed. */
  readonly emulation: "required" | "never" | "installed"
  /** What each relayer must hold to be ready, in nanotons. */
  readonly minimumGas: bigint
  /** What settling may cost in 24 hours, in nanotons. */
  readonly gasCeiling: bigint | undefined
}

/** Below it a relayer cannot even bring one payment to its wallet. */
const defaultMinimumGas = 100_000_000n

/** The settings that the variables say; `undefined` where there is no node. */
export const fromVariables = (variables: TonSettingVariables): TonSettings | undefined => {
  const { PONTAGE_TON_API_KEY: apiKey, PONTAGE_TON_RPC_URL: rpcUrl, PONTAGE_TON_SIGNER_KEY: keys } = variables
  if (rpcUrl === undefined) return undefined
  return {
    rpcUrl: Redacted.make(rpcUrl),
    apiKey: apiKey === undefined ? undefined : Redacted.make(apiKey),
    signerKeys: (keys?.split(",") ?? []).map((key) => Redacted.make(key)),
    terms: termsOf(variables),
    emulation: emulationOf(variables.PONTAGE_TON_EMULATION),
    minimumGas: variables.PONTAGE_TON_MIN_GAS_NANOTON ?? defaultMinimumGas,
    gasCeiling: variables.PONTAGE_TON_GAS_CEILING_NANOTON
  }
}

const termsOf = (variables: TonSettingVariables): TonTerms => {
  const {
    PONTAGE_TON_ASSETS: assets,
    PONTAGE_TON_ATTACHED_NANOTON: attachedTon,
    PONTAGE_TON_BATCH_MAXIMUM: maximum,
    PONTAGE_TON_BATCH_WINDOW_MS: windowMillis,
    PONTAGE_TON_EXTERNAL_MINIMUM: externalMinimum,
    PONTAGE_TON_KINDS: kinds,
    PONTAGE_TON_LOSS_BUDGET_NANOTON: lossBudget,
    PONTAGE_TON_LOSS_BUDGET_PER_CALLER_NANOTON: lossBudgetPerCaller,
    PONTAGE_TON_LOSS_BUDGET_PER_PAYER_NANOTON: lossBudgetPerPayer,
    PONTAGE_TON_NETWORK: network,
    PONTAGE_TON_SUBWALLET: subwallet
  } = variables
  return {
    ...(network !== undefined && { network }),
    ...(subwallet !== undefined && { subwallet }),
    ...(assets !== undefined && { assets }),
    ...(kinds !== undefined && { kinds: ExactTon.Kind.literals.filter((kind) => kinds.split(",").includes(kind)) }),
    ...(attachedTon !== undefined && { attachedTon }),
    ...(lossBudget !== undefined && { lossBudget }),
    ...(lossBudgetPerCaller !== undefined && { lossBudgetPerCaller }),
    ...(lossBudgetPerPayer !== undefined && { lossBudgetPerPayer }),
    ...(externalMinimum !== undefined && { externalMinimum }),
    batches: {
      ...(maximum !== undefined && { maximum }),
      ...(windowMillis !== undefined && { windowMillis })
    }
  }
}

const emulationOf = (wanted: "true" | "false" | undefined): TonSettings["emulation"] => {
  if (wanted === undefined) return "installed"
  return wanted === "true" ? "required" : "never"
}

/** What the variables of TON get wrong together. */
export const contradictions = (variables: TonSettingVariables): ReadonlyArray<string> =>
  variables.PONTAGE_TON_RPC_URL !== undefined && variables.PONTAGE_TON_SIGNER_KEY === undefined
    ? ["PONTAGE_TON_SIGNER_KEY: no relayer; set it to the seed of the wallet that pays for gas"]
    : []

/** The key pair of a seed in hexadecimal. */
export const keyPairOf = (key: Redacted.Redacted): TonSigner.TonKeyPair => {
  const secretKey = Buffer.from(Redacted.value(key), "hex")
  return { secretKey, publicKey: Ed25519.publicKeyOf(secretKey) }
}
