/**
 * The built-in list of the ad blocker. Public lists may not be shipped with this package, nor downloaded at run time; it has
 * rules of the kinds that they all have, for any site.
 */

/**
 * The ad blocker: the engine of a real one, with the user's list or the built-in one. Public lists may not be shipped with this
 * package, nor downloaded at run time; the built-in list has rules of the kinds that they all have, for any site.
 */
/** Rules without a domain: what general lists have against names that only ads use. */
export const builtinList = `! General rules
/adserver/
/adservice/
/ads/*
/ad/api/
/adframe.
/adbanner.
/ad-banner/
/banner-ads/
/banner_ads/
/pagead/
/prebid.js
/sponsored-ads/
-ad-banner.
-ads-api/
_adframe.
&ad_unit=
?ad_slot=
/ads.js$script
/adsense.js$script
/advertising.js$script
/ad-beacon?
/track/impression?
###ad-banner
###ad-container
###ad-slot
###adbox
###ads
###advertisement
##.ad-banner
##.ad-container
##.ad-placement
##.ad-slot
##.ad-unit
##.ad-wrapper
##.adbox
##.ads
##.adsbox
##.adsbygoogle
##.advertisement
##.banner-ad
##.sponsored-ad
##.sponsored-content
##[id^="div-gpt-ad"]
##[data-ad-slot]
`
