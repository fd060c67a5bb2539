/**
 * The known name that an unknown one was probably meant to be.
 */

/** A third of the letters may differ, of the shorter name; one in any. */
const tolerance = (one: string, other: string): number =>
  Math.max(1, Math.floor(Math.min(one.length, other.length) / 3))

/** A longer one is no slip of the fingers, and would take long to compare. */
const longest = 60

/**
 * The nearest of the names; `undefined` if none is near. One that stands in a deeper place (`limits.perDay`) is near when
 * its last word is the same.
 */
export const of = (name: string, names: ReadonlyArray<string>): string | undefined => {
  if (name.length > longest) return undefined
  const given = plain(name)
  const near = names
    .map((known) => ({ known, distance: distance(given, plain(known)) }))
    .filter(({ distance, known }) => distance <= tolerance(given, plain(known)))
    .toSorted((one, other) => one.distance - other.distance)[0]
  return near?.known ?? names.find((known) => known.includes(".") && plain(known.replace(/^.*\./, "")) === given)
}

/** People write a name in another case, and with or without a dash. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[-_ ]/g, "")

/** Edit distance: the number of letters to insert, delete, replace or swap with their neighbour. */
const distance = (one: string, other: string): number => {
  const rows = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Number.POSITIVE_INFINITY
  for (let row = 1; row <= one.length; row++) {
    const current = [row]
    rows.push(current)
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1]
      const swapped = row > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      current.push(
        Math.min(
          at(row - 1, column) + 1,
          at(row, column - 1) + 1,
          at(row - 1, column - 1) + (same ? 0 : 1),
          swapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY
        )
      )
    }
  }
  return at(one.length, other.length)
}
