/** `pontage receipt verify <file>`: finds who signed a receipt, and compares it with what the buyer knows. It sends nothing. */
import { readFileSync, statSync } from "node:fs"

import { EvmAddress, exactEvm } from "@pontage/evm"

import { CommandFailed, misused } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import * as ReceiptText from "../shop/ReceiptText.ts"
import * as SafeText from "../terminal/SafeText.ts"

/** The options. */
export const table = {
  signer: { value: "address", help: "The address that the shop signs with; another signer is a failure" },
  url: { value: "url", help: "The URL that was bought; a receipt for another one is a failure" },
  payer: { value: "address", help: "The payer; a receipt for another one is a failure" },
  transaction: { value: "hash", help: "The transaction that paid; a receipt for another one is a failure" },
  json: { help: "Print the result as JSON" }
} as const satisfies CommandLine.OptionTable

/** Maximum size of a file, in bytes: `pontage pay --json` writes the response's body too. */
const maximumBytes = 64 * 1024 * 1024

const contentOf = (path: string): string => {
  try {
    if (path !== "-" && statSync(path).size > maximumBytes)
      throw misused(`${path} is longer than ${maximumBytes} bytes`)
    return readFileSync(path === "-" ? 0 : path, "utf8")
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

const hex = /^(?:0x)?[0-9a-f]+$/i

/** Whether two texts are the same; the case of hexadecimal digits does not matter, that of other addresses does. */
const isSame = (one: string, other: string): boolean =>
  one === other || (hex.test(one) && one.toLowerCase() === other.toLowerCase())

/** Verifies. */
export const run = async (args: ReadonlyArray<string>): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  const [verb, path, ...more] = words
  if (verb !== "verify" || path === undefined || more.length > 0)
    throw misused("pontage receipt verify <file>, or - for standard input")
  const expected = {
    signer: addressOf(values.signer),
    url: values.url,
    payer: values.payer,
    transaction: values.transaction
  }
  const receipt = ReceiptText.find(contentOf(path))
  if (receipt === undefined) {
    const message = `${path} holds no signed receipt: expected the output of pontage pay --json, a response's X-Payment-Response or PAYMENT-RESPONSE, or the receipt itself`
    throw new CommandFailed({ exit: "failed", kind: "NoReceipt", message })
  }
  const signer = exactEvm.receiptSignerOf(receipt)
  const { issuedAt, network, payer, resourceUrl, transaction } = receipt.payload
  const faults = [
    ...(signer === undefined ? ["the signature is none"] : []),
    ...(signer !== undefined && expected.signer !== undefined && signer !== expected.signer
      ? [`signed by ${signer}, not by ${expected.signer}`]
      : []),
    ...(expected.url !== undefined && expected.url !== resourceUrl ? ["for another URL"] : []),
    ...(expected.payer !== undefined && !isSame(expected.payer, payer) ? ["for another payer"] : []),
    ...(expected.transaction !== undefined && !isSame(expected.transaction, transaction)
      ? ["for another transaction"]
      : [])
  ]
  const exit = ExitCode.numberOf(faults.length === 0 ? "done" : "failed")
  if (values.json === true) {
    process.stdout.write(`${JSON.stringify({ signer: signer ?? null, ...receipt.payload, faults, exit }, null, 2)}\n`)
    return exit
  }
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["signer", signer ?? "none"],
    ["bought", resourceUrl],
    ["payer", payer],
    ["network", network],
    ["transaction", transaction === "" ? "not named" : transaction],
    ["issued", timeOf(issuedAt)]
  ]
  for (const [name, value] of rows) process.stdout.write(`${name.padEnd(12)} ${SafeText.line(value, 400)}\n`)
  for (const fault of faults) process.stdout.write(`FAIL         ${SafeText.line(fault, 400)}\n`)
  if (faults.length === 0) process.stdout.write(`${verdictOf(expected.signer)}\n`)
  return exit
}

const timeOf = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? `${seconds}` : date.toISOString()
}

const verdictOf = (signer: string | undefined): string =>
  signer === undefined
    ? "The signature is intact. Compare the signer with the address that the shop publishes, or give it as --signer."
    : "The receipt is the shop's."
