/** State inits (TL-B `StateInit`), the addresses that they deploy to, and whole bytes. */
import { Address } from "./BrowserAddress.ts"
import { beginCell, type Builder } from "./CellBuilder.ts"
import type { Cell, CellSlice } from "./OrdinaryCell.ts"

/** A state init. Libraries of one are not read by payers. */
export interface StateInit {
  readonly splitDepth?: number | null
  readonly special?: { readonly tick: boolean; readonly tock: boolean } | null
  readonly code?: Cell | null
  readonly data?: Cell | null
}

/** Reads a state init. Throws for one with libraries. */
export const loadStateInit = (slice: CellSlice): StateInit => {
  const splitDepth = slice.loadBit() ? slice.loadUint(5) : null
  const special = slice.loadBit() ? { tick: slice.loadBit(), tock: slice.loadBit() } : null
  const code = slice.loadMaybeRef()
  const data = slice.loadMaybeRef()
  if (slice.loadBit()) throw new TypeError("expected a state init without libraries")
  return { splitDepth, special, code, data }
}

/** Writes a state init. */
export const storeStateInit =
  ({ code, data, special, splitDepth }: StateInit) =>
  (builder: Builder): void => {
    if (splitDepth === null || splitDepth === undefined) builder.storeBit(0)
    else builder.storeBit(1).storeUint(splitDepth, 5)
    if (special === null || special === undefined) builder.storeBit(0)
    else builder.storeBit(1).storeBit(special.tick).storeBit(special.tock)
    builder
      .storeMaybeRef(code ?? null)
      .storeMaybeRef(data ?? null)
      .storeBit(0)
  }

/** The address at which a state init is deployed. */
export const contractAddress = (workchain: number, init: StateInit): Address =>
  new Address(workchain, beginCell().store(storeStateInit(init)).endCell().hash())

/** Appends whole bytes. */
export const storeBytes = (builder: Builder, bytes: Uint8Array): Builder => builder.storeBytes(bytes)

/** Reads whole bytes. Throws where the slice ends too early. */
export const loadBytes = (slice: CellSlice, length: number): Uint8Array =>
  Uint8Array.from({ length }, () => slice.loadUint(8))
