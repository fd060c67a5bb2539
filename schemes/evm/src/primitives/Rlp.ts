/**
 * The recursive-length prefix (RLP) of numbers, bytes and lists, as hexadecimal digits without `0x`.
 */
const even = (digits: string): string => (digits.length % 2 === 0 ? digits : `0${digits}`)

/** The first byte holds a length below 56; for a longer one it holds the number of bytes that the length takes. */
export const withLength = (base: number, digits: string): string => {
  const length = digits.length / 2
  if (length < 56) return even((base + length).toString(16)) + digits
  const prefix = even(length.toString(16))
  return (base + 55 + prefix.length / 2).toString(16) + prefix + digits
}

/** Bytes as an item. */
export const bytes = (digits: string): string =>
  digits.length === 2 && digits < "80" ? digits : withLength(0x80, digits)

/** A number has no leading zeros, so zero has no bytes. */
export const number = (value: number | bigint): string => {
  const digits = value.toString(16)
  return bytes(digits === "0" ? "" : even(digits))
}

/** The encoded items as one list. */
export const list = (items: string): string => withLength(0xc0, items)

/** An item of a list: the begin and end of its content, in digits, and whether it is a list itself. */
export interface Item {
  readonly from: number
  readonly to: number
  readonly isList: boolean
}

/** The item at a place; `undefined` where the text ends too early. */
export const itemAt = (digits: string, at: number): Item | undefined => {
  const first = Number.parseInt(digits.slice(at, at + 2), 16)
  if (Number.isNaN(first)) return undefined
  if (first < 0x80) return { from: at, to: at + 2, isList: false }
  const isList = first >= 0xc0
  const short = first - (isList ? 0xc0 : 0x80)
  const extra = short < 56 ? 0 : short - 55
  const from = at + 2 + 2 * extra
  const length = extra === 0 ? short : Number.parseInt(digits.slice(at + 2, from), 16)
  const to = from + 2 * length
  return Number.isSafeInteger(to) && to <= digits.length ? { from, to, isList } : undefined
}

/** All items of a list's content; `undefined` for other digits. */
export const itemsIn = (digits: string, from: number, to: number): ReadonlyArray<Item> | undefined => {
  const items: Array<Item> = []
  for (let at = from; at < to;) {
    const item = itemAt(digits, at)
    if (item === undefined || item.to > to) return undefined
    items.push(item)
    at = item.to
  }
  return items
}
