/**
 * A clock that all processes of one machine share, and that nothing sets: Node's high resolution time.
 */

/** Milliseconds since an instant that is the same in all processes. */
export const now = (): number => Number(process.hrtime.bigint()) / 1e6
