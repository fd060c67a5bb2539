/** A `fetch` that pays for one command: with its wallets, within its limits, by its journal, telling its progress. */
import { PayerDialects, PaymentDeclined, type Quote, StreamStopped } from "@pontage/core"
import { type FetchFunction, type PayingFetch, wrapFetch } from "@pontage/fetch"
import * as Redacted from "effect/Redacted"

import * as Agreement from "../command/Agreement.ts"
import type * as PayerOptions from "../command/PayerOptions.ts"
import type { RequestPlan } from "../command/RequestOptions.ts"
import { type CommandFailed, unusableWallet } from "../CommandFailed.ts"
import type { Values } from "../CommandLine.ts"
import * as Question from "../terminal/Question.ts"
import * as SafeText from "../terminal/SafeText.ts"
import type { Screen } from "../terminal/Screen.ts"
import * as ChainFamily from "../wallet/ChainFamily.ts"
import * as WalletFolder from "../wallet/WalletFolder.ts"
import * as PayerNetworks from "./PayerNetworks.ts"
import * as PayerSchemes from "./PayerSchemes.ts"
import * as PayerTopUps from "./PayerTopUps.ts"
import * as PayerWallet from "./PayerWallet.ts"
import type { WatchedJournal } from "./WatchedJournal.ts"

/** Options of a session. */
export interface SessionOptions {
  readonly values: Values<typeof PayerOptions.table>
  readonly plan: RequestPlan
  readonly screen: Screen
  readonly signal: AbortSignal
  readonly journal: WatchedJournal | undefined
  /** The most for one request, as a price. */
  readonly max?: string | undefined
  /** The most in 24 hours, as a price. */
  readonly maxPerDay?: string | undefined
  /** The most for one metered stream, as a price. */
  readonly maxStream?: string | undefined
  /** Whether to pay this quote, whose payer is named; asked once, before anything is signed. */
  readonly agree: (quote: Quote, payer: string) => Promise<boolean>
}

/** The password of a wallet: of a file, of the environment, or asked for. */
const passwordOf =
  ({ screen, signal, values }: SessionOptions): PayerWallet.AskPassword =>
  async (wallet) => {
    const path = values["password-file"]
    if (path !== undefined) return Redacted.make(WalletFolder.readSecretFile(path).replace(/\r?\n$/, ""))
    const text = process.env["PONTAGE_PASSWORD"]
    if (text !== undefined) return Redacted.make(text)
    if (screen.isInteractive) return Redacted.make(await Question.password(`Password of ${wallet}`, signal))
    throw unusableWallet(`${wallet} needs its password: set PONTAGE_PASSWORD, or give --password-file`)
  }

/** Tells what it waits for, by the requests that pass. */
const told = (plan: RequestPlan, screen: Screen): FetchFunction => {
  const { host } = plan.url
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    const isPaid = PayerDialects.isPaid(PayerDialects.usual, (name) => headers.get(name))
    screen.wait(isPaid ? `The payment is sent to ${host}, which settles it` : `Asking ${host}`)
    return fetch(input, init)
  }
}

const noKey = (quote: Quote): CommandFailed =>
  PayerWallet.missing(ChainFamily.ofNetwork(quote.asset.network) ?? "evm", quote.asset.network)

/** Makes the session's `fetch`. */
export const make = (options: SessionOptions): PayingFetch => {
  const { agree, journal, max, maxPerDay, maxStream, plan, screen, values } = options
  const sources = { keyFiles: values["key-file"] ?? [], wallet: values.wallet }
  const wallets = PayerWallet.all(sources, passwordOf(options))
  const nodes = PayerNetworks.nodesFrom(values.rpc ?? [])
  const beside = PayerTopUps.besideFrom(values.bridges)
  const topUp = topUpsOf(values, wallets, { nodes, ...beside })
  const walletFor = ({ asset }: Quote) => wallets.find(({ family }) => family === ChainFamily.ofNetwork(asset.network))
  const isPlayMoney = ({ asset }: Quote) => plan.isLocal && asset.network === PayerSchemes.localNetwork
  const confirm = async (quote: Quote) => {
    screen.wait(undefined)
    const wallet = walletFor(quote)
    const payer = wallet === undefined ? "the local chain's own payer (play money)" : payerOf(wallet)
    const isPossible = wallet !== undefined || isPlayMoney(quote)
    if (!(await agree(quote, isPossible ? payer : "nobody: no key is set up"))) return false
    if (!isPossible) throw noKey(quote)
    await wallet?.open()
    if (quote.topUp !== undefined) screen.wait(`Bringing money from ${quote.topUp.from.network}`)
    return true
  }
  return wrapFetch(told(plan, screen), {
    schemes: PayerSchemes.make(wallets, nodes, plan.isLocal, beside),
    limits: {
      ...(max !== undefined && { perRequest: max }),
      ...(maxPerDay !== undefined && { perDay: maxPerDay }),
      ...(maxStream !== undefined && { perStream: maxStream })
    },
    allow: {
      ...(values.network !== undefined && { networks: values.network }),
      ...(topUp !== undefined && { topUp: true })
    },
    ...(topUp !== undefined && { topUp }),
    ...(journal !== undefined && { journal: journal.journal }),
    onTrouble: (error) => screen.say(troubleText(error)),
    choose: (quotes) => {
      // A channel locks a deposit for one request; a stream is sold in no other way.
      const ranked = [...quotes.filter((quote) => !isChannel(quote)), ...quotes.filter(isChannel)]
      return ranked.find((quote) => walletFor(quote) !== undefined) ?? ranked.find(isPlayMoney) ?? ranked[0]
    },
    confirm
  })
}

const isChannel = ({ requirements }: Quote): boolean => requirements.scheme === channelScheme

/** The scheme that pays through channels. */
const channelScheme = "batch-settlement"

const troubleText = (error: unknown): string => {
  if (error instanceof PaymentDeclined || error instanceof StreamStopped) return SafeText.line(error.message, 500)
  return `The journal could not be written: ${String(error)}`
}

/** The top-ups of the EVM wallet; `undefined` without `--top-up`. */
const topUpsOf = (
  values: SessionOptions["values"],
  wallets: ReadonlyArray<PayerWallet.PayerWallet>,
  means: Pick<PayerTopUps.Settings, "nodes" | "assets" | "bridges">
) => {
  const { "at-least": atLeast, "top-up": facilitator } = values
  if (facilitator === undefined) return undefined
  if (!wallets.some(({ family }) => family === "evm")) {
    throw unusableWallet("a top-up needs an EVM key: pontage wallet new, --key-file, or PONTAGE_EVM_KEY")
  }
  const signer = PayerSchemes.signerFor(wallets, "evm")
  return PayerTopUps.make({ ...means, facilitator, atLeast: Agreement.priceOf("--at-least", atLeast), signer })
}

const payerOf = ({ signer, source }: PayerWallet.PayerWallet): string =>
  "address" in signer ? `${signer.address} (${source})` : source
