/**
 * An exact spent amount: a number of some unit with a scale, so that dollars of assets with different decimals add up
 * without rounding, and any other asset is counted in its own smallest unit.
 */

/**
 * `digits / 10^scale` of a unit. The unit is `$`, or `<family>/<asset>` for the smallest unit of one asset: a limit
 * names an asset by its address, so payments in that address on all networks of a family are one sum.
 */
export interface Spending {
  readonly unit: string
  readonly digits: bigint
  readonly scale: number
}

/** The unit of dollar amounts. */
export const dollar = "$"

/** The unit of an asset's smallest unit. A network is named `<family>:<reference>`. */
export const assetUnit = (network: string, asset: string): string =>
  `${network.slice(0, network.indexOf(":"))}/${asset}`

/**
 * The unit under which an entry counts. Journals of 0.1 contain `<network>/<asset>`; their entries count in the same
 * sum.
 */
export const unitOf = (written: string): string =>
  written.includes(":") ? written.replace(/^([^:/]+):[^/]*\//, "$1/") : written

/** The amount zero of a unit. */
export const zero = (unit: string): Spending => ({ unit, digits: 0n, scale: 0 })

/** The sum; both are of the same unit. */
export const add = (left: Spending, right: Spending): Spending => {
  const scale = Math.max(left.scale, right.scale)
  return { unit: left.unit, digits: at(left, scale) + at(right, scale), scale }
}

/** The first minus the second; both are of the same unit. */
export const subtract = (left: Spending, right: Spending): Spending => add(left, { ...right, digits: -right.digits })

/** Whether the first is more than the second; both are of the same unit. */
export const isAbove = (left: Spending, right: Spending): boolean => {
  const scale = Math.max(left.scale, right.scale)
  return at(left, scale) > at(right, scale)
}

const at = ({ digits, scale }: Spending, wanted: number): bigint =>
  wanted === scale ? digits : digits * 10n ** BigInt(wanted - scale)

/** A text for people: `$0.05`, or `250 of eip155/0x…`. Dollars have at least two digits after the point. */
export const format = ({ digits, scale, unit }: Spending): string => {
  if (unit !== dollar) return `${digits} of ${unit}`
  const text = digits.toString().padStart(scale + 1, "0")
  const fraction = text.slice(text.length - scale).replace(/0+$/, "")
  return `$${text.slice(0, text.length - scale)}.${(scale === 0 ? "" : fraction).padEnd(2, "0")}`
}
