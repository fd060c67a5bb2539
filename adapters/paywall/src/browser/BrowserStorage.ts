/** Whether this browser keeps a journal, and whether one is there. Some browsers keep nothing in private windows. */

/** The database of `indexedDbJournal()`. */
const name = "pontage"

const opened = (request: IDBOpenDBRequest): Promise<boolean> =>
  new Promise((resolve) => {
    request.addEventListener("success", () => {
      request.result.close()
      resolve(true)
    })
    request.addEventListener("error", () => resolve(false))
    request.addEventListener("blocked", () => resolve(false))
  })

/** Whether the browser stores: a trial database is opened. */
export const isStored = async (): Promise<boolean> => {
  try {
    return await opened(indexedDB.open(`${name}.trial`))
  } catch {
    return false
  }
}

/** Whether a visit before this one has begun a journal; `true` where the browser does not list its databases. */
export const hasJournal = async (): Promise<boolean> => {
  try {
    if (!("databases" in indexedDB)) return true
    return (await indexedDB.databases()).some((database) => database.name === name)
  } catch {
    return false
  }
}
