/**
 * One measured figure.
 */
export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** What it is compared with. */
  readonly note?: string
  /** How many times better it is than others of the same run. */
  readonly ratios?: ReadonlyArray<Ratio>
}

/** How many times better: above 1 in favour of the row. */
export interface Ratio {
  readonly than: string
  readonly ratio: number
  /** What it is meant to be at least. */
  readonly target?: number
}
