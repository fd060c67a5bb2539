/** A statement that a shop signs as EIP-712 typed data: an offer, or a receipt. */

/** The typed data. Values are texts and whole numbers; the fields' order is that of the type. */
export interface TypedStatement {
  readonly domain: { readonly name: string; readonly version: string; readonly chainId: number }
  readonly types: Readonly<
    Record<string, ReadonlyArray<{ readonly name: string; readonly type: "string" | "uint256" }>>
  >
  readonly primaryType: string
  readonly message: Readonly<Record<string, string | bigint>>
}

/**
 * Signs a shop's receipts and offers: `exactEvm.receiptSigner(privateKey)`, or a local account of viem. Buyers compare the signer
 * of a receipt with `address`, which the shop publishes. The signature is 65 bytes in hexadecimal digits after `0x`; one that does
 * not come within two seconds is left out of the response.
 */
export interface ReceiptSigner {
  readonly address: string
  readonly signTypedData: (statement: TypedStatement) => Promise<string>
}

/** Domain of a kind of statement. It names chain 1 for payments on every network, and no contract: a statement itself names its network. */
export const domainOf = (name: string): TypedStatement["domain"] => ({ name, version: "1", chainId: 1 })

/** The values of a statement: whole numbers as `bigint`, as wallets take them. */
export const messageOf = (statement: Readonly<Record<string, string | number>>): TypedStatement["message"] =>
  Object.fromEntries(
    Object.entries(statement).map(([name, value]) => [name, typeof value === "number" ? BigInt(value) : value])
  )
