/**
 * One measured figure.
 */
export interface Row {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** The name of the row that it is compared with. */
  readonly note?: string
  /** The ratios to other rows of the same run. */
  readonly ratios?: ReadonlyArray<Ratio>
}

/** The ratio: above 1 in favour of the row. */
export interface Ratio {
  readonly than: string
  readonly ratio: number
  /** The target: the lowest acceptable ratio. */
  readonly target?: number
}
