/**
 * `pontage receipt verify <file>`: finds who signed a receipt or an offer, and compares it with what its holder knows. It sends
 * nothing.
 */
import { readFileSync, statSync } from "node:fs"

import { type PurchaseReceipt, SignedStatement } from "@pontage/core"
import { EvmAddress, exactEvm } from "@pontage/evm"

import { CommandFailed, misused } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as ReceiptFaults from "../shop/ReceiptFaults.ts"
import * as ReceiptText from "../shop/ReceiptText.ts"
import * as SafeText from "../terminal/SafeText.ts"

/** The options. */
export const table = {
  signer: { value: "address", help: "The address that the shop signs with; another signer is a failure" },
  url: { value: "url", help: "The URL that was bought; a receipt for another one is a failure" },
  method: { value: "method", help: "The method of the request; a receipt for another one is a failure" },
  payer: { value: "address", help: "The payer; a receipt for another one is a failure" },
  transaction: { value: "hash", help: "The transaction that paid; a receipt for another one is a failure" },
  payment: { value: "id", help: "The payment's id; a receipt for another one is a failure" },
  amount: { value: "units", help: "The amount in the token's smallest unit; another one is a failure" },
  body: { value: "file", help: "The response's body; a receipt for another one, or for none, is a failure" },
  json: { help: "Print the result as JSON" }
} as const satisfies CommandLine.OptionTable

/** Maximum size of a file, in bytes: `pontage pay --json` writes the response's body too. */
const maximumBytes = 64 * 1024 * 1024

const bytesOf = (path: string): Buffer => {
  try {
    if (path !== "-" && statSync(path).size > maximumBytes)
      throw misused(`${path} is longer than ${maximumBytes} bytes`)
    return readFileSync(path === "-" ? 0 : path)
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    throw misused(`${path} cannot be read: give a file, or - for standard input`)
  }
}

const addressOf = (text: string | undefined): string | undefined => {
  if (text === undefined) return undefined
  const address = EvmAddress.fromText(text)
  if (address === undefined) throw misused("--signer: expected an EVM address, 0x and 40 hexadecimal digits")
  return EvmAddress.checksum(address)
}

/** A statement as it was judged. */
interface Judged {
  readonly signed: SignedStatement.SignedStatement
  readonly signer: string | undefined
  readonly faults: ReadonlyArray<string>
}

/**
 * Judges the statements of a file. A body that the file holds beside a receipt is compared with it, where the receipt covers the
 * response.
 */
const judge = (path: string, expected: ReceiptFaults.Expected): ReadonlyArray<Judged> =>
  ReceiptText.find(bytesOf(path).toString("utf8")).map(({ body, signed }) => {
    const signer = exactEvm.receiptSignerOf(signed)
    const covers = SignedStatement.isPurchase(signed) && signed.payload.responseSha256 !== ""
    const known = { ...expected, body: expected.body ?? (covers ? body : undefined) }
    return { signed, signer, faults: ReceiptFaults.of(signed, signer, known, Date.now()) }
  })

/** Verifies. */
export const run = async (args: ReadonlyArray<string>): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const [verb, path, ...more] = words
  if (verb !== "verify" || path === undefined || more.length > 0)
    throw misused("pontage receipt verify <file>, or - for standard input")
  const { amount, body, method, payer, payment, transaction, url } = values
  const [first, ...others] = judge(path, {
    signer: addressOf(values.signer),
    url,
    method,
    payer,
    transaction,
    payment,
    amount,
    body: body === undefined ? undefined : bytesOf(body)
  })
  if (first === undefined) {
    const message = `${path} holds no signed receipt or offer: expected the output of pontage pay --json, the header of a response that carries one, or the receipt itself`
    throw new CommandFailed({ exit: "failed", kind: "NoReceipt", message })
  }
  // A receipt in Pontage's own format says all that the brief one beside it says; of several offers any may be the one that is meant.
  const isOffer = SignedStatement.isOffer(first.signed)
  const { faults, signed, signer } = isOffer
    ? ([first, ...others].find((one) => one.faults.length === 0) ?? first)
    : first
  const exit = ExitCode.numberOf(faults.length === 0 ? "done" : "failed")
  if (values.json === true) {
    const { payload } = signed
    process.stdout.write(`${JSON.stringify({ signer: signer ?? null, ...payload, faults, exit }, null, 2)}\n`)
    return exit
  }
  for (const [name, value] of [["signer", signer ?? "none"] as const, ...rowsOf(signed)])
    process.stdout.write(`${name.padEnd(12)} ${SafeText.line(value, 400)}\n`)
  for (const fault of faults) process.stdout.write(`FAIL         ${SafeText.line(fault, 400)}\n`)
  if (faults.length === 0) process.stdout.write(`${verdictOf(isOffer ? "offer" : "receipt", values.signer)}\n`)
  return exit
}

type Row = readonly [name: string, value: string]

const rowsOf = (signed: SignedStatement.SignedStatement): ReadonlyArray<Row> => {
  if (SignedStatement.isOffer(signed)) {
    const { amount, asset, network, payTo, resourceUrl, validUntil } = signed.payload
    const end = validUntil === 0 ? "no end" : timeOf(validUntil)
    return [
      ["offered", resourceUrl],
      ["price", `${amount} of ${asset}`],
      ["network", network],
      ["to", payTo],
      ["until", end]
    ]
  }
  const { issuedAt, network, payer, resourceUrl, transaction } = signed.payload
  return [
    ["bought", resourceUrl],
    ...(SignedStatement.isPurchase(signed) ? purchaseRows(signed.payload) : []),
    ["payer", payer],
    ["network", network],
    ["transaction", transaction === "" ? "not named" : transaction],
    ["issued", timeOf(issuedAt)]
  ]
}

const purchaseRows = ({
  amount,
  asset,
  method,
  payTo,
  paymentId,
  responseSha256,
  responseStatus
}: PurchaseReceipt.PurchaseStatement): ReadonlyArray<Row> => [
  ["method", method],
  ["price", `${amount} of ${asset}`],
  ["to", payTo],
  ["payment", paymentId],
  ["response", responseSha256 === "" ? "not covered" : `${responseStatus}, SHA-256 ${responseSha256}`]
]

const timeOf = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? `${seconds}` : date.toISOString()
}

const verdictOf = (kind: string, signer: string | undefined): string =>
  signer === undefined
    ? "The signature is intact. Compare the signer with the address that the shop publishes, or give it as --signer."
    : `The ${kind} is the shop's.`
