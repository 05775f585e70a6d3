/** The version of this package, apart from what would load more than that. */
declare const __SVC_VERSION__: string | undefined

/** The version of the package, which the build inserts; `0.0.0-source` when run from source. */
export const version = typeof __SVC_VERSION__ === 'string' ? __SVC_VERSION__ : '0.0.0-source'
