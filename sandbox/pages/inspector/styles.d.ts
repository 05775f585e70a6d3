/** Style sheets are imported only for the build. */
declare module '*.css'
