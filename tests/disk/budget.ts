/** How much is done. `DISK_SECONDS` is for each of the three parts; `DISK_SEED` repeats the choices of a run. */
import { availableParallelism } from 'node:os'

/** Null: the short selection of CI. */
export const wholeSeconds = process.env.DISK_SECONDS === undefined ? null : Number(process.env.DISK_SECONDS)

/** A file of recording that has failed, which is replayed instead of a new one. */
export const keptRecording = process.env.DISK_RECORDING ?? null

export const seed = Number(process.env.DISK_SEED ?? Math.floor(Math.random() * 1e9))

export const lanes = availableParallelism()
